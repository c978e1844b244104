"""How to connect a real model, with what this machine has: keys by their names, and servers that answer.

The solver never shows a key, and never asks another model by itself.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from thinkaloud.builtin.answer import GivenAnswer
from thinkaloud.builtin.question import Conclusion, Connections, Reading, Skill, Verdict
from thinkaloud.builtin.words import Language, phrase

MAX_MODELS = 3
"""Models of one server that are named."""

_MAX_CHARACTERS = 200
_ACTION = (
    r"(?:connect|use|add|set|put|enter|store|save|switch to|change(?: to)?|set ?up|configure|get|select"
    r"|choose|pick|talk to|ask"
    r"|enable|install|run"
    r"|plug in|hook up|try|conecto|conectar|uso|usar|adiciono|adicionar|mudo|mudar|troco|trocar|configuro"
    r"|configurar"
    r"|escolho|escolher|instalo|instalar|ligo|ligar|defino|definir|coloco|colocar|ponho)"
)
_OBJECT = (
    r"(?:models?|llms?|chatgpt|gpt|openai|claude|anthropic|gemini|ollama|llama|lm ?studio|vllm|mistral"
    r"|deepseek"
    r"|openrouter|api|keys?|providers?|modelos?|chaves?|provedor(?:es)?)"
)
_QUESTION = re.compile(
    rf"(?:(?:how|can|could|i want|i'd like|let me|where|which|what|como|quero|posso|onde"
    rf"|gostaria)\b.*\b)?{_ACTION}\b"
    rf".*\b{_OBJECT}\b.*"
    rf"|(?:which|what|quais|que) (?:models|modelos)\b[^\d]*|(?:list|show)(?: the| me)* models|models|modelos"
    rf"|(?:api key|connect|conectar|chave de api|real model|another model|modelo de verdade)"
)


class ConnectionsQuestion(msgspec.Struct, frozen=True):
    """The question how to ask a real model, and what was found for it."""

    connections: Connections

    def steps(self) -> Iterator[Any]:
        """What was found was looked up already."""
        return iter((*self.connections.servers, *self.connections.keys))

    def narrate(self, trace: Sequence[Any], language: Language) -> Iterator[str]:
        """Writes what was looked for and what was found."""
        yield phrase(language, "think.connect")
        servers = ", ".join(server.provider for server in self.connections.servers)
        keys = ", ".join(key.provider for key in self.connections.keys)
        yield phrase(language, "think.servers" if servers else "think.no_servers", servers=servers)
        yield phrase(language, "think.keys" if keys else "think.no_keys", keys=keys)

    def conclude(self, trace: Sequence[Any], language: Language) -> Conclusion:
        """Writes the models that can be asked now, or else how to get there."""
        lines = connection_lines(self.connections, language)
        if lines:
            answer = phrase(language, "answer.connect", found="\n".join(lines))
        else:
            answer = phrase(language, "answer.connect_nothing")
        return Conclusion(answer, known=False)

    def check(self, answer: GivenAnswer) -> Verdict:
        """There is nothing to check."""
        return answer.verdict(False, "unreadable")


def connection_lines(connections: Connections, language: Language) -> list[str]:
    """Writes one line for each server and each key that was found."""
    lines = []
    for server in connections.servers:
        models = ", ".join(f"{server.provider}/{model}" for model in server.models[:MAX_MODELS])
        key = "connect.server" if models else "connect.empty_server"
        lines.append("- " + phrase(language, key, provider=server.provider, url=server.url, models=models))
    for found in connections.keys:
        values = {"provider": found.provider, "source": found.source, "model": found.model}
        lines.append("- " + phrase(language, "connect.key", **values))
    return lines


def recognise(reading: Reading) -> ConnectionsQuestion | None:
    """Recognises the question; only then are keys and servers looked up."""
    text = reading.normalized.rstrip("?.! ")
    if len(text) > _MAX_CHARACTERS or not _QUESTION.fullmatch(text):
        return None
    return ConnectionsQuestion(reading.environment.connections())


CONNECT = Skill(
    "real models",
    recognise,
    {Language.EN: "how do I connect a real model?", Language.PT: "como conecto um modelo de verdade?"},
    "connect model models real language provider conectar conecto modelo modelos verdade chave",
)
