"""The Flutter surface, drawn by Flet: a thinking block for any Flet app, and a chat app around it."""

from thinkaloud.surfaces.flutter.thinking_block import KoderThinkingBlock, ThinkingBlock

__all__ = ["KoderThinkingBlock", "ThinkingBlock"]
