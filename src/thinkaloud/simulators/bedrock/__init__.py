"""Simulates the Converse API of Amazon Bedrock."""
