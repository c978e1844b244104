"""Simulates the Gemini API of Google."""
