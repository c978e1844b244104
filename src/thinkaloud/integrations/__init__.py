"""Models for agent frameworks, and the element `<thinking-block>` on screens of other programs.

One module per framework or screen, imported only by who uses it; none is a dependency. What models have in
common is in `request.py`, what screens have in `element.py`; what is hard is in the core. Only `client` and
`core` are imported. Read first: `request.py`, `element.py`, `docs/integrations/frameworks.md`.
"""
