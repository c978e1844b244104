"""The gateway: the canonical API over HTTP, with sessions, live turns, and streams that can be resumed."""
