"""Turns that run: prepared, started, commanded and ended."""
