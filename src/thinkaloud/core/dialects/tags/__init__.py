"""Splits text with thinking tags or channels; profiles define which markers a model writes."""
