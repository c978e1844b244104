"""The words in American English."""

from thinkaloud.view.locales.table import Locale, Plural

EN_US = Locale(
    name="en-US",
    decimal=".",
    thousands=",",
    ones=frozenset({1}),
    words={
        "ai.thinking.streaming": "Thinking...",
        "ai.thinking.complete": "Thought for {duration}",
        "ai.thinking.complete_unknown": "Thought",
        "ai.thinking.approximate": "≈{duration}",
        "ai.thinking.words": Plural("{n} word", "{n} words"),
        "ai.thinking.tokens": Plural("{n} token", "{n} tokens"),
        "ai.thinking.step": "[Step {n}]",
        "ai.thinking.waiting": "Waiting…",
        "ai.thinking.still_waiting": "Still waiting…",
        "ai.thinking.interrupted": "Interrupted",
        "ai.thinking.stopped": "Stopped",
        "ai.thinking.cut_by_limit": "Cut off",
        "ai.thinking.connection_lost": "Connection lost",
        "ai.thinking.status.thinking": "Thinking…",
        "ai.thinking.status.done": "Done",
        "ai.thinking.status.error": "Failed",
        "ai.thinking.tools": Plural("{n} tool used", "{n} tools used"),
        "ai.thinking.tools_deep": "{n} with those of assistants",
        "ai.thinking.tool": "Tool",
        "ai.thinking.assistant": "Assistant",
        "ai.thinking.working": "{name} is working…",
        "ai.thinking.encrypted": "Thought; the provider encrypted the text, so it cannot be shown.",
        "ai.thinking.redacted": "Thought; the provider redacted the text, so it cannot be shown.",
        "ai.thinking.withheld": "Thought; the provider withheld the text.",
        "ai.thinking.provenance.raw": "Model's own words",
        "ai.thinking.provenance.summary": "Provider's summary",
        "ai.thinking.provenance.generated": "Generated summary",
        "ai.thinking.hidden": "Thinking hidden",
        "ai.thinking.expand": "(click to expand)",
        "ai.thinking.collapse": "(click to collapse)",
        "ai.thinking.blocks_shown": "Thinking blocks: shown",
        "ai.thinking.blocks_hidden": "Thinking blocks: hidden",
        "ai.thinking.enable": "Enable thinking",
        "ai.thinking.budget": "Thinking budget (tokens)",
        "ai.thinking.no_key": (
            "Thinking is on, but {name} is not set. Set it, or turn thinking off; nothing was sent."
        ),
        "ai.notice.reasoning_only": (
            "Model provided reasoning but no response. Try rephrasing your question."
        ),
        "ai.notice.empty": "The model gave no answer.",
        "ai.notice.refused": "The model declined to answer.",
        "ai.notice.stopped": "Stopped before the answer was complete.",
        "ai.notice.cut_by_limit": "The length limit cut the answer off.",
        "ai.notice.connection_lost": "The connection was lost before the answer was complete.",
        "ai.notice.failed": "The answer failed: {reason}",
        "cli.replaying": "Replaying {name}, a recorded turn; no model is asked.",
    },
)
