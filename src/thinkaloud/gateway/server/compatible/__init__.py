"""Endpoints for existing clients: in the clients' own formats, and every request is a turn of a session."""
