"""The store: event logs, sessions, turns, users, agents, preferences, and search over them."""
