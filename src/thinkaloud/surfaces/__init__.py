"""Surfaces show turns to people. A surface reads only entries and views.

`chat` is the chat without widgets, which `tui` (Textual) and `flutter` (Flet) draw; `plain` writes to the
command line. Surfaces import `core.canon`, `core.transcript` and `core.view`, and reach a gateway only by
`chat.backend.Backend`. Read first: `chat/backend.py`, `chat/chat_state.py`, `chat/panel_rows.py`.
"""
