"""Queries as functions of a connection, one module per subject. They take the owner of a row."""
