"""The gateway: runs turns for any number of users, stores every entry, and streams them to readers.

`store` holds the event log and everything that is kept; it knows no HTTP. `server` holds the HTTP API, the
endpoints for existing clients, the running turns and their streams. The gateway imports `agents`, `client`,
`importers` and the core; of the other boxes only `cli` imports it. It needs the extra `server`.

Read first: `server/gateway.py`, `server/turns/running_turn.py`, `store/log/event_log.py`.
"""
