"""A turn into what a surface says: policy, open rule, words, previews, the view, projections; and files."""

from thinkaloud.view.graphemes import columns_of
from thinkaloud.view.notices import notice
from thinkaloud.view.opening import PANEL, open_state, toggle_all
from thinkaloud.view.plain_lines import Channel, PlainRenderer, plain_lines
from thinkaloud.view.policy import (
    PRESETS,
    AfterComplete,
    HeaderStyle,
    LiveRegion,
    OpenState,
    Policy,
    RememberScope,
    preset,
    read_policy,
    toggle_thinking,
)
from thinkaloud.view.preview import count_words, preview, tail
from thinkaloud.view.projections import (
    GatewayAnswer,
    ReasoningBlock,
    ReasoningMeta,
    TextPart,
    ThinkingBlock,
    ThinkingStep,
    gateway_answer,
    thinking_block,
)
from thinkaloud.view.session_from_markdown import read_markdown
from thinkaloud.view.session_json import read_json, write_json
from thinkaloud.view.session_markdown import ThinkingStyle, write_markdown
from thinkaloud.view.session_record import Exchange, SessionRecord, without_thoughts
from thinkaloud.view.standing import HiddenReason, ThinkingState
from thinkaloud.view.steps import StepView
from thinkaloud.view.summary import SummaryBy, summary_line
from thinkaloud.view.texts import copy_text, speech_text, title_text
from thinkaloud.view.thinking import BlockView, ThinkingView, view
from thinkaloud.view.words import LOCALES, Words

__all__ = [
    "LOCALES",
    "PANEL",
    "PRESETS",
    "AfterComplete",
    "BlockView",
    "Channel",
    "Exchange",
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
    "SessionRecord",
    "StepView",
    "SummaryBy",
    "TextPart",
    "ThinkingBlock",
    "ThinkingState",
    "ThinkingStep",
    "ThinkingStyle",
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
    "read_json",
    "read_markdown",
    "read_policy",
    "speech_text",
    "summary_line",
    "tail",
    "thinking_block",
    "title_text",
    "toggle_all",
    "toggle_thinking",
    "view",
    "without_thoughts",
    "write_json",
    "write_markdown",
]
