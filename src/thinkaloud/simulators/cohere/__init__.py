"""Simulates version 2 of the chat API of Cohere."""
