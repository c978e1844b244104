"""Thinking tags and channels inside text, and the profiles that say which a model writes."""
