"""Simulates the chat API of OpenRouter."""
