"""Models for agent frameworks: each asks through Thinkaloud, so thoughts are exact and go back as demanded.

One module per framework, imported only by who uses it; no framework is a dependency. What is common is in
`request.py`; what is hard is in the core. Only `client` and `core` are imported. Read first: `request.py`,
`langchain.py`, `docs/integrations/frameworks.md`.
"""
