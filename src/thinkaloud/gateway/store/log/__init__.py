"""The event log of turns: entries that are written, committed, followed, recovered and archived."""
