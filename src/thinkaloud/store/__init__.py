"""What is kept: the log of every turn, sessions, people, agents, preferences, and search over all of it."""
