"""Endpoints for existing clients: they speak the clients' formats, and every request is a turn of a session."""
