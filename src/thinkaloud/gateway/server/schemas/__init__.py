"""Request and response structs of the HTTP API, with the bounds of every field."""
