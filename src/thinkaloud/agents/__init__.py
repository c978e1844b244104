"""Agents: models that use tools and assistants, watched while they work."""
