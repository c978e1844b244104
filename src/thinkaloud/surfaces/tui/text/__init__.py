"""Text in the terminal: Markdown, code and thoughts as wrapped rows that only grow."""
