"""Converts turns into what a surface shows: display policy, open state, localized words and projections."""

from thinkaloud.view.labels import notice
from thinkaloud.view.plain import Channel, PlainRenderer, plain_lines
from thinkaloud.view.policy import (
    PANEL,
    PRESETS,
    AfterComplete,
    HeaderStyle,
    LiveRegion,
    OpenState,
    Policy,
    RememberScope,
    open_state,
    preset,
    read_policy,
    toggle_all,
    toggle_thinking,
)
from thinkaloud.view.projections import (
    GatewayAnswer,
    ReasoningBlock,
    ReasoningMeta,
    TextPart,
    ThinkingBlock,
    ThinkingStep,
    copy_text,
    gateway_answer,
    speech_text,
    thinking_block,
    title_text,
)
from thinkaloud.view.state import HiddenReason, ThinkingState
from thinkaloud.view.summary import SummaryBy, summary_line
from thinkaloud.view.text import columns_of, count_words, preview, tail
from thinkaloud.view.thinking import BlockView, StepView, ThinkingView, view
from thinkaloud.view.words import LOCALES, Words

__all__ = [
    "LOCALES",
    "PANEL",
    "PRESETS",
    "AfterComplete",
    "BlockView",
    "Channel",
    "GatewayAnswer",
    "HeaderStyle",
    "HiddenReason",
    "LiveRegion",
    "OpenState",
    "PlainRenderer",
    "Policy",
    "ReasoningBlock",
    "ReasoningMeta",
    "RememberScope",
    "StepView",
    "SummaryBy",
    "TextPart",
    "ThinkingBlock",
    "ThinkingState",
    "ThinkingStep",
    "ThinkingView",
    "Words",
    "columns_of",
    "copy_text",
    "count_words",
    "gateway_answer",
    "notice",
    "open_state",
    "plain_lines",
    "preset",
    "preview",
    "read_policy",
    "speech_text",
    "summary_line",
    "tail",
    "thinking_block",
    "title_text",
    "toggle_all",
    "toggle_thinking",
    "view",
]
