"""The tag profiles: the ways in which models mark reasoning in raw text.

A profile is data: the pairs of markers, whether the chat template already opens the reasoning, whether
markers count anywhere or only at the start, and what else ends the reasoning. The profile is chosen by the
model's name (`families`) and never guessed from the text.
"""

from typing import Literal

import msgspec

from thinkaloud.core.canon import UnknownProfile


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
    """A closing marker before any reasoning: plain text, or all text before it was reasoning."""
    end_markers: tuple[str, ...] = ()
    """Markers of tool calls, which end the reasoning and stay in the text."""
    dropped_markers: tuple[str, ...] = ()
    """Markers around the answer, which are removed."""
    answer_from_thought: bool = False
    """If the text has only reasoning, that reasoning is the answer."""
    channels: bool = False
    """The text is in the Harmony format: messages with a header that names their channel."""


_Start = Literal["inside", "either"]


def _variants(profile: TagProfile, *starts: _Start) -> tuple[TagProfile, ...]:
    """Return a profile and its variants for text that starts, or may start, inside the reasoning."""
    changes: dict[_Start, dict[str, object]] = {
        "inside": {"starts_inside": True},
        "either": {"lone_close": "reclassify"},
    }
    return (
        profile,
        *(
            msgspec.structs.replace(profile, name=f"{profile.name}_{start}", **changes[start])
            for start in starts
        ),
    )


_RESPONSE_MARKERS = ("<response>", "</response>")
_ANSWER_MARKERS = ("<answer>", "</answer>")
_THINK_PAIR = ("<think>", "</think>")
_THOUGHT_PAIR = ("<thought>", "</thought>")
_K2_EFFORTS = ("think", "think_fast", "think_faster")
_K3_OPEN = "<|open|>think<|sep|>"
_INKLING_OPEN = "<|content_thinking|>"
_GRANITE_OPENS = ("Here is my thought process:", "Here's my thought process:")
_GRANITE_CLOSES = ("Here is my response:", "Here's my response:")

_THINK_PROFILES = (
    *_variants(TagProfile("think"), "inside", "either"),
    TagProfile("think_anywhere", anywhere=True),
    TagProfile(
        "prompted",
        pairs=(
            _THINK_PAIR,
            ("<thinking>", "</thinking>"),
            _THOUGHT_PAIR,
            ("<reasoning>", "</reasoning>"),
            ("<reflection>", "</reflection>"),
        ),
        anywhere=True,
    ),
    *_variants(TagProfile("thought", pairs=(_THOUGHT_PAIR,)), "inside", "either"),
    *_variants(TagProfile("think_or_call", end_markers=("<tool_call>",)), "inside", "either"),
    *_variants(
        TagProfile("deepseek", end_markers=("<｜DSML｜", "<｜tool▁calls▁begin｜>")), "inside", "either"
    ),
    *_variants(TagProfile("minimax_m2", end_markers=("<minimax:tool_call>",)), "inside", "either"),
    *_variants(
        TagProfile(
            "kimi_k2", anywhere=True, end_markers=("<|tool_calls_section_begin|>", "<|tool_call_begin|>")
        ),
        "inside",
        "either",
    ),
    TagProfile("ernie", starts_inside=True, dropped_markers=_RESPONSE_MARKERS),
    TagProfile("ernie_either", lone_close="reclassify", dropped_markers=_RESPONSE_MARKERS),
    *_variants(TagProfile("hunyuan", dropped_markers=_ANSWER_MARKERS), "either"),
    TagProfile("nemotron_nonempty", answer_from_thought=True),
    TagProfile("reka", pairs=(("<reasoning>", "</reasoning>"),)),
    TagProfile("marco", pairs=(("<Thought>", "</Thought>"),), dropped_markers=("<Output>", "</Output>")),
    *_variants(
        TagProfile(
            "k2_think",
            pairs=tuple((f"<{tag}>", f"</{tag}>") for tag in _K2_EFFORTS),
            dropped_markers=_ANSWER_MARKERS,
        ),
        "inside",
        "either",
    ),
)
"""Profiles whose markers people write too, so that a closing marker alone may be part of an answer."""

_TOKEN_PROFILES = (
    TagProfile("hunyuan_suffix", pairs=(("<think:*>", "</think:*>"), _THINK_PAIR), lone_close="reclassify"),
    *_variants(TagProfile("minimax_m3", pairs=(("<mm:think>", "</mm:think>"),)), "inside", "either"),
    TagProfile(
        "seed",
        pairs=(("<seed:think>", "</seed:think>"),),
        lone_close="reclassify",
        end_markers=("<seed:tool_call>",),
    ),
    *_variants(
        TagProfile(
            "longcat",
            pairs=(("<longcat_think>", "</longcat_think>"),),
            lone_close="reclassify",
            end_markers=("<longcat_tool_call>",),
        ),
        "inside",
    ),
    *_variants(
        TagProfile(
            "k2_horizon",
            pairs=tuple((f"<ifm|{tag}>", f"</ifm|{tag}>") for tag in _K2_EFFORTS),
            lone_close="reclassify",
            end_markers=("<ifm|tool_calls>",),
        ),
        "inside",
    ),
    TagProfile("mistral", pairs=(("[THINK]", "[/THINK]"), _THINK_PAIR)),
    TagProfile("kimi_vl", pairs=(("◁think▷", "◁/think▷"),), lone_close="reclassify"),
    *_variants(
        TagProfile(
            "kimi_k3",
            pairs=((_K3_OPEN, "<|close|>think<|sep|>"), (_K3_OPEN, "<|open|>response<|sep|>")),
            lone_close="reclassify",
            end_markers=("<|open|>tools<|sep|>",),
            dropped_markers=(
                "<|open|>response<|sep|>",
                "<|close|>response<|sep|>",
                "<|close|>message<|sep|>",
                "<|end_of_msg|>",
            ),
        ),
        "inside",
    ),
    TagProfile("harmony", pairs=(), channels=True),
    TagProfile(
        "gemma",
        pairs=(("<|channel>thought\n", "<channel|>"), ("<|channel>", "<channel|>")),
        anywhere=True,
        lone_close="reclassify",
        dropped_markers=("<channel|>",),
    ),
    *_variants(
        TagProfile(
            "cohere",
            pairs=(("<|START_THINKING|>", "<|END_THINKING|>"),),
            lone_close="reclassify",
            end_markers=("<|START_ACTION|>",),
            dropped_markers=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
        ),
        "inside",
    ),
    TagProfile(
        "inkling",
        pairs=((_INKLING_OPEN, "<|end_message|>"), (_INKLING_OPEN, "<|content_text|>")),
        anywhere=True,
        dropped_markers=(
            "<|message_model|>",
            "<|content_text|>",
            "<|end_message|>",
            "<|content_model_end_sampling|>",
        ),
    ),
    TagProfile(
        "solar",
        pairs=(("<|think|>", "<|end|>"),),
        anywhere=True,
        dropped_markers=("<|begin|>assistant", "<|content|>", "<|end|>"),
    ),
    TagProfile(
        "solar_open2",
        pairs=(("<|think:start|>", "<|think:end|>"),),
        lone_close="reclassify",
        end_markers=("<|tool_call:start|>",),
    ),
    TagProfile(
        "apertus",
        pairs=(("<|inner_prefix|>", "<|inner_suffix|>"),),
        anywhere=True,
        lone_close="reclassify",
    ),
    TagProfile(
        "plamo",
        pairs=(("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),),
        lone_close="reclassify",
    ),
    TagProfile(
        "pangu",
        pairs=(("[unused16]", "[unused17]"),),
        lone_close="reclassify",
        dropped_markers=("[unused10]",),
    ),
    *_variants(
        TagProfile(
            "apriel",
            pairs=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
            lone_close="reclassify",
            dropped_markers=("[END FINAL RESPONSE]", "<|end|>"),
        ),
        "inside",
    ),
    TagProfile(
        "granite",
        pairs=(
            *((opening, closing) for opening in _GRANITE_OPENS for closing in _GRANITE_CLOSES),
            _THINK_PAIR,
        ),
        dropped_markers=_RESPONSE_MARKERS,
    ),
)
"""Profiles with special tokens or phrases of their own, which a text contains only as markers."""

PROFILES = {
    profile.name: profile for profile in (TagProfile("off", pairs=()), *_THINK_PROFILES, *_TOKEN_PROFILES)
}

_OPENING_MARKERS = (
    "<|channel|>",
    "<|start|>",
    *(marker.partition("*")[0] for tag_profile in PROFILES.values() for marker, _ in tag_profile.pairs),
)


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
        raise UnknownProfile(
            "Unknown tag profile {name}. Use one of: {names}.", name=repr(name), names=names
        ) from None
