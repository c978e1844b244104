"""Small talk, what can be asked, and how to connect a real model.

The solver never pretends to be a language model. To connect one, it names what this machine has: servers that
answer, and keys by where they come from. It never shows a key, and never asks another model by itself.
"""

import re

from thinkaloud.builtin.puzzle import Connections, Reading, Remark
from thinkaloud.builtin.readings import kind_words
from thinkaloud.builtin.words import Language, normalize, phrase
from thinkaloud.builtin.words.vocabulary import CONNECTED, KINDS, SAYINGS

MAX_MODELS = 3
"""Models of one server that are named."""
EXAMPLES = [kind for kind in KINDS if kind != "talk"]
"""The kinds of question that have an example."""

_MAX_CHARACTERS = 200
_KEYS: dict[str, str] = {}
for _key, _sayings in SAYINGS.items():
    _KEYS.update((" ".join(saying.split()), _key) for saying in _sayings.split(","))
_SHORT_FORMS = {"vc": "voce", "eh": "e", "u": "you", "r": "are", "wat": "what", "wot": "what"}
_FILLER = re.compile(
    r"\b(?:please|por favor|my friend|friend|solver|bot|thinkaloud|man|dude|mate|amigo|amiga)$"
)
_ACTION = CONNECTED["action"].replace(", ", "|")
_OBJECT = CONNECTED["object"].replace(", ", "|")
_CONNECTION = re.compile(
    rf"(?:(?:how|can|could|i want|i'd like|let me|where|which|what|como|quero|posso|onde|gostaria)\b.*\b)?"
    rf"(?:{_ACTION})\b.*\b(?:{_OBJECT})\b.*"
    r"|(?:which|what|quais|que) (?:models|modelos)\b[^\d]*|(?:list|show)(?: the| me)* models|models|modelos"
    r"|api key|connect|conectar|chave de api|real model|another model|modelo de verdade"
)
_WORD = re.compile(r"[a-z]{3,}")
_ENGLISH = "what which how when who why where many much more each have has the and for with are was"
_PORTUGUESE = "que qual quais como quando quem onde quanto quantos quantas mais cada com para uma dos das tem"
_QUESTION_WORDS = frozenset(f"{_ENGLISH} {_PORTUGUESE}".split())
"""Say that something is asked, and not which kind of thing."""


def recognise_saying(reading: Reading) -> Remark | None:
    """Recognises greetings, thanks, and questions about the solver itself."""
    words = re.sub(r"[,.!:;)(]+", " ", reading.bare or reading.normalized).split()
    saying = " ".join(_SHORT_FORMS.get(word, word) for word in words)
    key = _KEYS.get(saying) or _KEYS.get(_FILLER.sub("", saying).strip())
    if key is None:
        return None
    kinds = EXAMPLES if key == "help" else ["make", "knights", "connect"]
    return Remark(f"think.{key}", f"answer.{key}", {"examples": _listed(kinds, reading.language)})


def fitting_examples(text: str, language: Language) -> str:
    """Writes three examples for a text that no skill recognises, as a list.

    Kinds of question that share words with the text come first, then a sum if it has a number. A text that
    is like none of them is for a real model, so that comes first.
    """
    typed = set(_WORD.findall(normalize(text))) - _QUESTION_WORDS
    shared_words = {}
    for kind in EXAMPLES:
        example_words = _WORD.findall(normalize(phrase(language, f"example.{kind}")))
        shared_words[kind] = len(typed & kind_words(kind).union(example_words))
    closest = sorted(EXAMPLES, key=lambda kind: -shared_words[kind])[:2]
    fitting = [kind for kind in closest if shared_words[kind]]
    if any(letter.isdigit() for letter in text):
        fitting.append("arithmetic")
    offered = dict.fromkeys([*fitting[:2], "connect", "make", "knights"])
    return _listed([*offered][:3], language)


def _listed(kinds: list[str], language: Language) -> str:
    return "\n".join("- " + phrase(language, f"example.{kind}") for kind in kinds)


def recognise_connection(reading: Reading) -> Remark | None:
    """Recognises the question for a real model; only then are keys and servers looked up."""
    if len(reading.bare) > _MAX_CHARACTERS or not _CONNECTION.fullmatch(reading.bare):
        return None
    language = reading.language
    connections = reading.environment.connections()
    servers = ", ".join(server.provider for server in connections.servers)
    keys = ", ".join(key.provider for key in connections.keys)
    lines = _connection_lines(connections, language)
    values = {
        "servers": phrase(language, "connect.servers" if servers else "connect.no_servers", servers=servers),
        "keys": phrase(language, "connect.keys" if keys else "connect.no_keys", keys=keys),
        "found": "\n".join(lines),
    }
    return Remark("think.connect", "answer.connect" if lines else "answer.connect_nothing", values)


def _connection_lines(connections: Connections, language: Language) -> list[str]:
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
