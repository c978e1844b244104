"""Simulates Chat Completions and Responses of OpenAI."""
