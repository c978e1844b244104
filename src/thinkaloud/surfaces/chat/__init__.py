"""The chat without widgets: sessions, streams, rows and words, shared by terminal and Flutter."""
