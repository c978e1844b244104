"""A turn into what a surface says: policy, open rule, words, previews, the view, projections; and files."""

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
from thinkaloud.view.session_from_markdown import read_markdown
from thinkaloud.view.session_json import read_json, write_json
from thinkaloud.view.session_markdown import Style, write_markdown
from thinkaloud.view.session_record import Exchange, SessionRecord, without_thoughts
from thinkaloud.view.standing import Standing, Unseen
from thinkaloud.view.steps import StepView
from thinkaloud.view.summary import SummaryBy, summary_line
from thinkaloud.view.texts import copy_text, speech_text, title_text
from thinkaloud.view.thinking import BlockView, ThinkingView, view
from thinkaloud.view.words import LOCALES, Words

__all__ = [
    "LOCALES",
    "PANEL",
    "PRESETS",
    "BlockView",
    "Channel",
    "Exchange",
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
    "SessionRecord",
    "Standing",
    "StepView",
    "Style",
    "SummaryBy",
    "TextPart",
    "ThinkingBlock",
    "ThinkingStep",
    "ThinkingView",
    "Unseen",
    "Words",
    "columns_of",
    "copy_text",
    "count_words",
    "gateway",
    "notice",
    "open_state",
    "plain",
    "preset",
    "preview",
    "read_json",
    "read_markdown",
    "read_policy",
    "speech_text",
    "summary_line",
    "tail",
    "thinking_block",
    "title_text",
    "toggle_all",
    "toggled",
    "view",
    "without_thoughts",
    "write_json",
    "write_markdown",
]
