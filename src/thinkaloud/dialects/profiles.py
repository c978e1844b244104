"""How each family of models marks its thoughts in raw text.

A profile is data: the pairs of marks, whether the prompt's template has already opened the thought,
whether marks count anywhere or only at the beginning, and what else ends a thought. A family is found
by the model's name; nothing is ever guessed from the text.
"""

import re
from typing import Literal

import msgspec

from thinkaloud.canon import UnknownProfile


class Profile(msgspec.Struct, frozen=True):
    """The marks of one way of writing thoughts into text."""

    name: str
    pairs: tuple[tuple[str, str], ...] = (("<think>", "</think>"),)
    starts_inside: bool = False
    """The template opens the thought, so the text begins in it."""
    anywhere: bool = False
    """Marks count in the middle of an answer too, not only at its beginning."""
    nesting: Literal["depth", "first_close"] = "depth"
    lone_close: Literal["literal", "reclassify"] = "literal"
    """A closing mark without an opening one: plain text, or the sign that all before it was a thought."""
    ended_by: tuple[str, ...] = ()
    """Marks of tool calls that end a thought; they stay in the text."""
    dropped: tuple[str, ...] = ()
    """Marks round the answer that are not part of it."""
    answer_from_thought: bool = False
    """When nothing but a thought came, it was the answer."""
    channels: bool = False
    """Harmony: messages with a header that names their channel."""


_TOOL = ("<tool_call>",)
_DSML = ("<｜DSML｜",)
_RESPONSE = ("<response>", "</response>")
_THINK = ("<think>", "</think>")
_MM = (("<mm:think>", "</mm:think>"),)
_HORIZON = tuple((f"<ifm|{way}>", f"</ifm|{way}>") for way in ("think", "think_fast", "think_faster"))
_K3 = (("<|open|>think<|sep|>", "<|close|>think<|sep|>"),)
_K3_ANSWER = ("<|open|>response<|sep|>", "<|close|>response<|sep|>")
_GEMMA = (("<|channel>thought\n", "<channel|>"), ("<|channel>", "<channel|>"))
_COHERE = (("<|START_THINKING|>", "<|END_THINKING|>"),)
_COHERE_ANSWER = ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>")
_INKLING = (("<|content_thinking|>", "<|end_message|>"), ("<|content_thinking|>", "<|content_text|>"))
_INKLING_ANSWER = (
    "<|message_model|>",
    "<|content_text|>",
    "<|end_message|>",
    "<|content_model_end_sampling|>",
)

PROFILES = {
    profile.name: profile
    for profile in (
        Profile("off", pairs=()),
        Profile("think"),
        Profile("think_inside", starts_inside=True),
        Profile("think_anywhere", anywhere=True),
        Profile(
            "prompted",
            pairs=(
                _THINK,
                ("<thinking>", "</thinking>"),
                ("<thought>", "</thought>"),
                ("<reasoning>", "</reasoning>"),
                ("<reflection>", "</reflection>"),
            ),
            anywhere=True,
        ),
        Profile("thought", pairs=(("<thought>", "</thought>"),)),
        Profile("think_or_call", ended_by=_TOOL),
        Profile("think_or_call_inside", starts_inside=True, ended_by=_TOOL),
        Profile("deepseek", ended_by=_DSML),
        Profile("deepseek_inside", starts_inside=True, ended_by=_DSML),
        Profile("ernie", starts_inside=True, dropped=_RESPONSE),
        Profile("hunyuan", dropped=("<answer>", "</answer>")),
        Profile("hunyuan_suffix", pairs=(("<think:*>", "</think:*>"), _THINK)),
        Profile("minimax_m3", pairs=_MM),
        Profile("minimax_m3_inside", pairs=_MM, starts_inside=True),
        Profile("seed", pairs=(("<seed:think>", "</seed:think>"),)),
        Profile("k2_horizon", pairs=_HORIZON, ended_by=("<ifm|tool_calls>",)),
        Profile("k2_horizon_inside", pairs=_HORIZON, starts_inside=True, ended_by=("<ifm|tool_calls>",)),
        Profile("mistral", pairs=(("[THINK]", "[/THINK]"), _THINK)),
        Profile("kimi_vl", pairs=(("◁think▷", "◁/think▷"),)),
        Profile("kimi_k3", pairs=_K3, dropped=_K3_ANSWER),
        Profile("kimi_k3_inside", pairs=_K3, starts_inside=True, dropped=_K3_ANSWER),
        Profile("harmony", pairs=(), channels=True),
        Profile("gemma", pairs=_GEMMA, anywhere=True, lone_close="reclassify"),
        Profile("cohere", pairs=_COHERE, dropped=_COHERE_ANSWER),
        Profile("cohere_inside", pairs=_COHERE, starts_inside=True, dropped=_COHERE_ANSWER),
        Profile("inkling", pairs=_INKLING, anywhere=True, dropped=_INKLING_ANSWER),
        Profile("apertus", pairs=(("<|inner_prefix|>", "<|inner_suffix|>"),), anywhere=True),
        Profile("plamo", pairs=(("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),)),
        Profile("granite", pairs=(("Here is my thought process:", "Here is my response:"), _THINK)),
        Profile("nemotron_nonempty", answer_from_thought=True),
    )
}

_OPENING_MARKS = (
    "<|channel|>",
    "<|start|>",
    *(mark.partition("*")[0] for known in PROFILES.values() for mark, _ in known.pairs),
)

_FAMILIES = (
    (r"gpt-oss", "harmony", "harmony"),
    (r"deepseek-(r1|reasoner)|ds-r1", "deepseek", "think_inside"),
    (r"deepseek", "deepseek", "deepseek"),
    (r"qwq|qwen-?3.*thinking|qwen-?(3\.[5-9]|[4-9])", "think_or_call", "think_or_call_inside"),
    (r"qwen", "think_or_call", "think_or_call"),
    (r"glm", "think_or_call", "think_or_call"),
    (r"kimi-k3", "kimi_k3", "kimi_k3_inside"),
    (r"kimi-(vl|k1\.?5)", "kimi_vl", "kimi_vl"),
    (r"kimi.*thinking|kimi-k2\.[5-9]", "think_or_call", "think_or_call_inside"),
    (r"minimax-?m3", "minimax_m3", "minimax_m3"),
    (r"minimax-?m2", "think", "think_inside"),
    (r"seed-oss", "seed", "seed"),
    (r"hunyuan-a13b", "hunyuan", "hunyuan"),
    (r"hunyuan|\bhy-?[v34]", "hunyuan_suffix", "hunyuan_suffix"),
    (r"k2-horizon", "k2_horizon", "k2_horizon_inside"),
    (r"magistral|ministral|mistral", "mistral", "mistral"),
    (r"gemma-?4", "gemma", "gemma"),
    (r"muse-glimmer", "harmony", "harmony"),
    (r"inkling", "inkling", "inkling"),
    (r"command-(a|r7b)", "cohere", "cohere_inside"),
    (r"apertus", "apertus", "apertus"),
    (r"plamo", "plamo", "plamo"),
    (r"ernie", "think", "ernie"),
    (r"step-?3", "think", "think_inside"),
    (r"nemotron", "think", "think"),
    (r"granite", "granite", "granite"),
)
"""Family, its profile where a server answers, and its profile for the raw text of the model.

A server that separates thoughts itself may send none, so only raw text is ever read as starting inside.
"""


def begins_with_mark(text: str) -> bool:
    """Whether a text begins with an opening mark of any profile."""
    return text.lstrip().startswith(_OPENING_MARKS)


def may_become_mark(text: str) -> bool:
    """Whether a text is the beginning of an opening mark that it does not finish."""
    start = text.lstrip()
    return any(mark.startswith(start) and mark != start for mark in _OPENING_MARKS)


def profile(name: str) -> Profile:
    """The profile of that name."""
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(sorted(PROFILES))
        raise UnknownProfile(f"There is no tag profile {name!r}. Use one of: {known}.") from None


def profile_of(model: str, *, raw: bool) -> Profile:
    """The profile for a model's answers: through a server, or as `raw` text straight from the model."""
    name = model.lower()
    for family, served, straight in _FAMILIES:
        if re.search(family, name):
            return PROFILES[straight if raw else served]
    return PROFILES["think"]
