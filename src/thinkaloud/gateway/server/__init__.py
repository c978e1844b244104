"""The HTTP gateway: sessions, running turns, and event streams that a client can resume."""
