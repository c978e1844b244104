"""The screens of the chat in a terminal, and what their keys and commands do."""
