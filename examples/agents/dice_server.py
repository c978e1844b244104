"""An MCP server with one tool, made with the official SDK."""

import random

from mcp.server.mcpserver import MCPServer

server = MCPServer("dice", log_level="ERROR")


@server.tool()
def roll(sides: int = 6, dice: int = 1) -> list[int]:
    """Roll some dice."""
    return [random.randint(1, sides) for _ in range(dice)]


if __name__ == "__main__":
    server.run()
