"""Simulates the Messages API of Anthropic."""
