"""The core: a provider's bytes into a turn, a turn into words, and a conversation into the next request.

It is pure: no clock, no file, no network. It imports nothing of the other boxes. A response flows through
`wire` (frames), `dialects` (events), `transcript` (the turn) and `view` (labels and states); a request flows
through `catalog` (the route), `context` (what is sent back) and `dialects`. `canon` is the vocabulary of all
of them, and `export` writes sessions as files.

Read first: `canon/events.py`, `dialects/reader.py`, `transcript/reducer.py`.
"""
