"""The tag profiles: how each model family marks reasoning in raw text.

A profile is data: the pairs of markers, whether the chat template already opens the reasoning, whether
markers count anywhere or only at the start, and what else ends the reasoning. The profile is chosen by the
model's name and never guessed from the text.
"""

import re
from typing import Literal

import msgspec

from thinkaloud.canon import UnknownProfile


class TagProfile(msgspec.Struct, frozen=True):
    """The markers of one way to write reasoning into text."""

    name: str
    pairs: tuple[tuple[str, str], ...] = (("<think>", "</think>"),)
    starts_inside: bool = False
    """The chat template contains the opening marker, so the text starts inside the reasoning."""
    anywhere: bool = False
    """Markers count in the middle of an answer too, not only at its start."""
    nesting: Literal["depth", "first_close"] = "depth"
    lone_close: Literal["literal", "reclassify"] = "literal"
    """A closing marker without an opening one: plain text, or all text before it was reasoning."""
    end_markers: tuple[str, ...] = ()
    """Markers of tool calls, which end the reasoning and stay in the text."""
    dropped_markers: tuple[str, ...] = ()
    """Markers around the answer, which are removed."""
    answer_from_thought: bool = False
    """If the text has only reasoning, that reasoning is the answer."""
    channels: bool = False
    """The text is in the Harmony format: messages with a header that names their channel."""


_TOOL_CALL_MARKERS = ("<tool_call>",)
_DSML_MARKERS = ("<｜DSML｜",)
_RESPONSE_MARKERS = ("<response>", "</response>")
_THINK_PAIR = ("<think>", "</think>")
_MM_PAIRS = (("<mm:think>", "</mm:think>"),)
_HORIZON_PAIRS = tuple((f"<ifm|{tag}>", f"</ifm|{tag}>") for tag in ("think", "think_fast", "think_faster"))
_K3_PAIRS = (("<|open|>think<|sep|>", "<|close|>think<|sep|>"),)
_K3_ANSWER_MARKERS = ("<|open|>response<|sep|>", "<|close|>response<|sep|>")
_GEMMA_PAIRS = (("<|channel>thought\n", "<channel|>"), ("<|channel>", "<channel|>"))
_COHERE_PAIRS = (("<|START_THINKING|>", "<|END_THINKING|>"),)
_COHERE_ANSWER_MARKERS = ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>")
_INKLING_PAIRS = (("<|content_thinking|>", "<|end_message|>"), ("<|content_thinking|>", "<|content_text|>"))
_INKLING_ANSWER_MARKERS = (
    "<|message_model|>",
    "<|content_text|>",
    "<|end_message|>",
    "<|content_model_end_sampling|>",
)

PROFILES = {
    profile.name: profile
    for profile in (
        TagProfile("off", pairs=()),
        TagProfile("think"),
        TagProfile("think_inside", starts_inside=True),
        TagProfile("think_anywhere", anywhere=True),
        TagProfile(
            "prompted",
            pairs=(
                _THINK_PAIR,
                ("<thinking>", "</thinking>"),
                ("<thought>", "</thought>"),
                ("<reasoning>", "</reasoning>"),
                ("<reflection>", "</reflection>"),
            ),
            anywhere=True,
        ),
        TagProfile("thought", pairs=(("<thought>", "</thought>"),)),
        TagProfile("think_or_call", end_markers=_TOOL_CALL_MARKERS),
        TagProfile("think_or_call_inside", starts_inside=True, end_markers=_TOOL_CALL_MARKERS),
        TagProfile("deepseek", end_markers=_DSML_MARKERS),
        TagProfile("deepseek_inside", starts_inside=True, end_markers=_DSML_MARKERS),
        TagProfile("ernie", starts_inside=True, dropped_markers=_RESPONSE_MARKERS),
        TagProfile("hunyuan", dropped_markers=("<answer>", "</answer>")),
        TagProfile("hunyuan_suffix", pairs=(("<think:*>", "</think:*>"), _THINK_PAIR)),
        TagProfile("minimax_m3", pairs=_MM_PAIRS),
        TagProfile("minimax_m3_inside", pairs=_MM_PAIRS, starts_inside=True),
        TagProfile("seed", pairs=(("<seed:think>", "</seed:think>"),)),
        TagProfile("k2_horizon", pairs=_HORIZON_PAIRS, end_markers=("<ifm|tool_calls>",)),
        TagProfile(
            "k2_horizon_inside", pairs=_HORIZON_PAIRS, starts_inside=True, end_markers=("<ifm|tool_calls>",)
        ),
        TagProfile("mistral", pairs=(("[THINK]", "[/THINK]"), _THINK_PAIR)),
        TagProfile("kimi_vl", pairs=(("◁think▷", "◁/think▷"),)),
        TagProfile("kimi_k3", pairs=_K3_PAIRS, dropped_markers=_K3_ANSWER_MARKERS),
        TagProfile("kimi_k3_inside", pairs=_K3_PAIRS, starts_inside=True, dropped_markers=_K3_ANSWER_MARKERS),
        TagProfile("harmony", pairs=(), channels=True),
        TagProfile("gemma", pairs=_GEMMA_PAIRS, anywhere=True, lone_close="reclassify"),
        TagProfile("cohere", pairs=_COHERE_PAIRS, dropped_markers=_COHERE_ANSWER_MARKERS),
        TagProfile(
            "cohere_inside", pairs=_COHERE_PAIRS, starts_inside=True, dropped_markers=_COHERE_ANSWER_MARKERS
        ),
        TagProfile("inkling", pairs=_INKLING_PAIRS, anywhere=True, dropped_markers=_INKLING_ANSWER_MARKERS),
        TagProfile("apertus", pairs=(("<|inner_prefix|>", "<|inner_suffix|>"),), anywhere=True),
        TagProfile("plamo", pairs=(("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),)),
        TagProfile("granite", pairs=(("Here is my thought process:", "Here is my response:"), _THINK_PAIR)),
        TagProfile("nemotron_nonempty", answer_from_thought=True),
    )
}

_OPENING_MARKERS = (
    "<|channel|>",
    "<|start|>",
    *(marker.partition("*")[0] for tag_profile in PROFILES.values() for marker, _ in tag_profile.pairs),
)

_MODEL_FAMILIES = (
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
"""Pattern of the model name, profile for text from a server, and profile for the model's raw text.

The first match wins. A server that separates reasoning itself may send an answer without any, so only raw
text uses a profile that starts inside the reasoning.
"""


def starts_with_marker(text: str) -> bool:
    """Return whether a text starts with an opening marker of any profile."""
    return text.lstrip().startswith(_OPENING_MARKERS)


def may_become_marker(text: str) -> bool:
    """Return whether a text is an unfinished opening marker of any profile."""
    start = text.lstrip()
    return any(marker.startswith(start) and marker != start for marker in _OPENING_MARKERS)


def find_profile(name: str) -> TagProfile:
    """Return the profile with this name."""
    try:
        return PROFILES[name]
    except KeyError:
        names = ", ".join(sorted(PROFILES))
        raise UnknownProfile(f"Unknown tag profile {name!r}. Use one of: {names}.") from None


def profile_for_model(model: str, *, raw: bool) -> TagProfile:
    """Return the profile for a model's text, from a server or `raw` from the model."""
    name = model.lower()
    for family, server_profile, raw_profile in _MODEL_FAMILIES:
        if re.search(family, name):
            return PROFILES[raw_profile if raw else server_profile]
    return PROFILES["think"]
