"""Full-text search over prompts, answers, thoughts and tool calls."""
