"""Prepares the request for an agent's next reply from its model, settings, tools and conversation."""

import msgspec

from thinkaloud.agents.spec import Agent
from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare, require_key
from thinkaloud.core.canon import ThinkingNotOffered
from thinkaloud.core.catalog import Catalog
from thinkaloud.core.catalog.thinking import OnUnavailable
from thinkaloud.core.context import Context, Step


def prepare_reply(
    agent: Agent,
    steps: tuple[Step, ...],
    *,
    catalog: Catalog | None = None,
    tool_choice: str = "",
    on_thinking_unavailable: OnUnavailable = "error",
) -> PreparedRequest:
    """Build the request. A missing key is refused here, before anything is sent."""
    options = Options(
        tools=agent.tool_definitions,
        tool_choice=(tool_choice or agent.tool_choice) if agent.tool_definitions else "",
        max_tokens=agent.max_tokens,
        output=agent.output_schema,
        cache=agent.cache,
        context_mode=agent.context_mode,
        on_thinking_unavailable=on_thinking_unavailable,
        catalog=catalog,
        **msgspec.structs.asdict(agent.sampling),
    )
    conversation = Context(steps, agent.system, agent.tool_definitions)
    prepared = prepare(conversation, model=agent.model, thinking=agent.thinking, options=options)
    require_key(prepared.route)
    return prepared


def prepare_first(
    agent: Agent, steps: tuple[Step, ...], *, catalog: Catalog, on_thinking_unavailable: OnUnavailable
) -> tuple[Agent, PreparedRequest]:
    """Return the first request and the agent; its later requests omit thinking that the model cannot do."""
    try:
        return agent, prepare_reply(agent, steps, catalog=catalog)
    except ThinkingNotOffered:
        if on_thinking_unavailable == "error":
            raise
    request = prepare_reply(agent, steps, catalog=catalog, on_thinking_unavailable="warn")
    return msgspec.structs.replace(agent, thinking=None), request
