"""Reads from the headers of a request which program asks, and in which of its conversations.

The headers are what the program says about itself. They group and nest sessions, and give no rights.
"""

import re
from collections.abc import Mapping

from thinkaloud.gateway.store.rows import SessionClient
from thinkaloud.importers.files import MAX_ID_CHARACTERS

MAX_CLIENT_CHARACTERS = 40
_PRODUCT = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)")
"""The first product of a User-Agent (RFC 9110, section 10.1.5), without its version."""
_NAMES = {
    "claude-cli": "Claude Code",
    "claude-code": "Claude Code",
    "codex_cli_rs": "Codex",
    "codex_exec": "Codex",
    "codex-tui": "Codex",
    "codex_vscode": "Codex",
    "openai": "OpenAI SDK",
    "asyncopenai": "OpenAI SDK",
    "anthropic": "Anthropic SDK",
    "asyncanthropic": "Anthropic SDK",
    "ollama-python": "Ollama SDK",
    "ollama-js": "Ollama SDK",
    "ai-sdk": "AI SDK",
    "ai": "AI SDK",
    "litellm": "LiteLLM",
}
"""Names by product, in lower case. Other products are named as they name themselves."""
UNKNOWN_CLIENT = "API"
"""The name of a client that sends no User-Agent."""
_SESSION_HEADER = "x-claude-code-session-id"
_AGENT_HEADER = "x-claude-code-agent-id"
_PARENT_AGENT_HEADER = "x-claude-code-parent-agent-id"
"""Claude Code sends the ids of a sub-agent and of the agent that started it. The main agent has no id."""


def session_client(headers: Mapping[str, str]) -> SessionClient:
    """Return what a client says about itself. Ids that it does not send are empty."""
    session, agent = _id(headers, _SESSION_HEADER), _id(headers, _AGENT_HEADER)
    parent = _conversation(session, _id(headers, _PARENT_AGENT_HEADER)) if agent else ""
    return SessionClient(client_name(headers), _conversation(session, agent), parent)


def _id(headers: Mapping[str, str], name: str) -> str:
    return headers.get(name, "").strip()[:MAX_ID_CHARACTERS]


def _conversation(session: str, agent: str) -> str:
    return f"{session}/{agent}" if session and agent else session


def client_name(headers: Mapping[str, str]) -> str:
    """Return the name of the client of a compatible endpoint. Never empty."""
    match = _PRODUCT.match(headers.get("user-agent", ""))
    if match is None:
        return UNKNOWN_CLIENT
    product = match[1][:MAX_CLIENT_CHARACTERS]
    return _NAMES.get(product.lower(), product)
