"""A turn into what a surface says: policy, open rule, words, previews, the view itself, and projections."""

from thinkaloud.view.graphemes import columns_of
from thinkaloud.view.notices import notice
from thinkaloud.view.opening import PANEL, open_state, toggle_all
from thinkaloud.view.plain_lines import Channel, PlainTeller, plain
from thinkaloud.view.policy import (
    PRESETS,
    Header,
    LiveRegion,
    Open,
    Policy,
    Remember,
    Rest,
    preset,
    read_policy,
    toggled,
)
from thinkaloud.view.preview import count_words, preview, tail
from thinkaloud.view.projections import (
    Gateway,
    ReasoningBlock,
    ReasoningMeta,
    TextPart,
    ThinkingBlock,
    ThinkingStep,
    gateway,
    thinking_block,
)
from thinkaloud.view.standing import Standing, Unseen
from thinkaloud.view.steps import StepView
from thinkaloud.view.summary import SummaryBy, summary_line
from thinkaloud.view.thinking import BlockView, ThinkingView, view
from thinkaloud.view.words import LOCALES, Words

__all__ = [
    "LOCALES",
    "PANEL",
    "PRESETS",
    "BlockView",
    "Channel",
    "Gateway",
    "Header",
    "LiveRegion",
    "Open",
    "PlainTeller",
    "Policy",
    "ReasoningBlock",
    "ReasoningMeta",
    "Remember",
    "Rest",
    "Standing",
    "StepView",
    "SummaryBy",
    "TextPart",
    "ThinkingBlock",
    "ThinkingStep",
    "ThinkingView",
    "Unseen",
    "Words",
    "columns_of",
    "count_words",
    "gateway",
    "notice",
    "open_state",
    "plain",
    "preset",
    "preview",
    "read_policy",
    "summary_line",
    "tail",
    "thinking_block",
    "toggle_all",
    "toggled",
    "view",
]
