"""A conversation that remembers: each question continues where the last answer ended.

Any model can answer any question: what of the earlier turns it gets to see, and in which form, is decided for
each request. Functions among the tools are run until there is an answer.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import msgspec

from thinkaloud.agents.loop import prepare_reply
from thinkaloud.agents.run import Run, RunContext
from thinkaloud.agents.spec import Agent, apply_request, bare_model, check_unique_tool_names
from thinkaloud.agents.tools import Tool, from_function
from thinkaloud.client.files import user_message
from thinkaloud.client.output import OutputShape, output_schema
from thinkaloud.client.prepared_request import CommonOptions, Options, PreparedRequest, with_options
from thinkaloud.client.sync import loop_runner, refuse_open_client, step_through
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.client.user_files import replace_file
from thinkaloud.core.canon import ApprovalAsked, Entry, Finish, Kind, Refused, TurnEnded, Wording
from thinkaloud.core.canon.requests import (
    File,
    Image,
    ToolDefinition,
    ToolMessage,
    TurnRequest,
    UserMessage,
    merge_options,
)
from thinkaloud.core.context import (
    AnsweredTurn,
    Context,
    Step,
    read_conversation,
    steps_of,
    write_conversation,
)
from thinkaloud.core.transcript import Block, Delta, Turn, apply, delta_of, events_to_end_turn

SHOWN_KINDS = (Kind.REASONING, Kind.TEXT)
Approver = Callable[[Block], bool]
"""Decides whether a call of a tool that needs an approval may run."""

_USED_WITH_AGENT = ("catalog", "client", "on_thinking_unavailable")
_UNUSED = {
    "images": Wording("Pass them with a question: ask(text, files=[...])."),
    "files": Wording("Pass them with a question: ask(text, files=[...])."),
    "stream": Wording("Leave it out: `ask` returns the whole turn, and `stream` iterates over it."),
    "unsupported": Wording(
        "Leave it out, or pass `conversation.context` to `thinkaloud.ask` with this option."
    ),
}
"""Options that a conversation does not use, and what to do instead."""


class AskSettings(TypedDict, total=False):
    """What a question may set besides its text, for this question only."""

    model: str
    thinking: str | int | None
    files: Sequence[str | Path | Image | File]
    """Images, PDF files, recordings and text, by path or as values."""
    output: OutputShape | None
    results: Sequence[ToolMessage]
    """The results of calls that were left to the caller."""


class ConversationOptions(CommonOptions, total=False):
    """What a conversation takes besides, by name."""

    output: OutputShape | None
    messages: Sequence[Mapping[str, Any]]
    """What was said before, as messages of OpenAI or Anthropic."""


class Conversation:
    """A conversation with a model or an agent.

    `ask` and `stream` block, `ask_async` and `stream_async` do not.
    Tools are functions, `Tool` values, or `ToolDefinition` values, whose calls are left to the caller.
    A tool that needs an approval is run if `approve` returns True for its call.
    """

    def __init__(
        self,
        model: str | Agent,
        *,
        system: str = "",
        tools: Sequence[Callable[..., Any] | Tool | ToolDefinition] = (),
        thinking: str | int | None = None,
        options: Options | None = None,
        approve: Approver | None = None,
        **chosen: Unpack[ConversationOptions],
    ) -> None:
        messages = chosen.pop("messages", ())
        self._options = options = with_options(options, chosen)
        _refuse_unused(model, thinking, options)
        agent = merge_options(bare_model(model) if isinstance(model, str) else model, options)
        if options.output is not None:
            agent = msgspec.structs.replace(agent, output_schema=output_schema(options.output))
        own_tools = tuple(_as_tool(tool) for tool in tools if not isinstance(tool, ToolDefinition))
        definitions = tuple(tool for tool in tools if isinstance(tool, ToolDefinition))
        self._agent = check_unique_tool_names(
            msgspec.structs.replace(
                agent,
                # Without a name the calls of all tools are left to the caller.
                name=agent.name or (agent.model if own_tools else ""),
                system=system or agent.system,
                thinking=agent.thinking if thinking is None else thinking,
                tools=(*agent.tools, *own_tools),
                client_tools=(*agent.client_tools, *options.tools, *definitions),
            )
        )
        self._approve = approve
        self._steps: tuple[Step, ...] = ()
        if messages:
            self._add_messages(messages)
        self.last: Turn | None = None
        """The turn that the last question led to."""

    def _add_messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        from thinkaloud.importers.message_json import read_messages

        system, self._steps = read_messages(messages, self._agent.model)
        if system and self._agent.system:
            raise Refused("The messages have a system prompt, and `system` is set too. Keep one of them.")
        if system:
            self._agent = msgspec.structs.replace(self._agent, system=system)

    @property
    def context(self) -> Context:
        """Everything that was said so far, as a value: for `ask`, `build` and `write_conversation`."""
        agent = self._agent
        return Context(self._steps, agent.system, agent.tool_definitions, agent.model)

    def ask(self, text: str = "", **settings: Unpack[AskSettings]) -> Turn:
        """Ask and return the whole turn. Blocking form of `ask_async`."""
        refuse_open_client("Conversation.ask", self._options)
        with loop_runner() as run:
            return run(self.ask_async(text, **settings))

    async def ask_async(self, text: str = "", **settings: Unpack[AskSettings]) -> Turn:
        """Ask and return the whole turn. `settings` hold for this question only: see `AskSettings`."""
        async with aclosing(self._entries(text, settings)) as entries:
            async for _ in entries:
                pass
        assert self.last is not None
        return self.last

    def stream(self, text: str = "", **settings: Unpack[AskSettings]) -> Generator[Delta, None, None]:
        """Ask and iterate over thoughts and answer as they arrive. Blocking form of `stream_async`."""
        refuse_open_client("Conversation.stream", self._options)
        return step_through(self.stream_async(text, **settings))

    async def stream_async(
        self, text: str = "", **settings: Unpack[AskSettings]
    ) -> AsyncGenerator[Delta, None]:
        """Ask and yield thoughts and answer as they arrive; `last` is the turn. Takes what `ask_async` takes.

        Leaving early cancels the turn and keeps what arrived.
        """
        async with aclosing(self._entries(text, settings)) as entries:
            async for turn, entry in entries:
                delta = delta_of(turn, entry.event)
                if delta and delta.kind in SHOWN_KINDS and turn.blocks[delta.block].parent is None:
                    yield delta

    def save(self, path: str | Path) -> None:
        """Write the conversation to a file that `load` and `thinkaloud context` read."""
        replace_file(Path(path), write_conversation(self.context).decode())

    @classmethod
    def load(cls, path: str | Path, model: str | Agent = "", **settings: Any) -> Self:
        """Read a conversation. `model` replaces the one that was asked last.

        `settings` are those of `Conversation`. Functions are not saved: pass the tools again, or their calls
        are left to the caller.
        """
        context = read_conversation(Path(path).read_bytes())
        if not model and not context.model:
            raise Refused("{path} names no model. Pass one, for example model='claude-opus-4.5'.", path=path)
        conversation = cls(model or context.model, **{"system": context.system, **settings})
        agent, conversation._steps = conversation._agent, context.steps
        known = {tool.name for tool in agent.tool_definitions}
        # Providers refuse earlier calls of tools that a request no longer offers.
        others = tuple(tool for tool in context.tools if tool.name not in known)
        conversation._agent = msgspec.structs.replace(agent, client_tools=(*agent.client_tools, *others))
        return conversation

    async def _entries(self, text: str, settings: AskSettings) -> AsyncGenerator[tuple[Turn, Entry], None]:
        """Run one turn and add it to the conversation, whether or not it was read to its end."""
        question = _question(text, settings)
        agent, steps = apply_request(self._agent, question), (*self._steps, *question.messages)
        catalog = self._options.catalog or load_catalog()
        request = prepare_reply(agent, steps, catalog=catalog)
        context = RunContext(catalog=catalog, client=self._options.client)
        run = Run(agent, steps, context=context, first_request=request)
        try:
            async with aclosing(run.entries()) as entries:
                async for entry in entries:
                    yield run.turn, entry
                    if isinstance(entry.event, ApprovalAsked):
                        self._decide(run, entry.event.block)
        finally:
            if run.turn.seq >= 0:
                self._keep(steps, run, request)

    def _decide(self, run: Run, block: int) -> None:
        granted = self._approve is not None and self._approve(run.turn.blocks[block])
        run.decide(block, granted=granted)

    def _keep(self, steps: tuple[Step, ...], run: Run, request: PreparedRequest) -> None:
        turn = run.turn
        if turn.live:
            for event in events_to_end_turn(turn, TurnEnded(Finish.CANCELLED)):
                apply(turn, Entry(turn.seq + 1, event, run.now_ms()))
        answered = AnsweredTurn(turn, request.prefix, request.route.provider.name)
        self._steps, self.last = (*steps, *steps_of(answered)), turn


def _question(text: str, settings: AskSettings) -> TurnRequest:
    output = settings.get("output")
    results, message = tuple(settings.get("results", ())), user_message(text, settings.get("files", ()))
    prompt = () if message == UserMessage("") else (message,)
    if not results and not prompt:
        raise Refused("The prompt is empty, so nothing was sent. Pass a text, files or results.")
    return TurnRequest(
        messages=(*results, *prompt),
        model=settings.get("model", ""),
        thinking=settings.get("thinking"),
        output_schema=None if output is None else output_schema(output),
    )


def _refuse_unused(model: str | Agent, thinking: str | int | None, options: Options) -> None:
    """Refuse settings that would have no effect."""
    defaults, fields = Options(), Options.__struct_fields__
    chosen = [name for name in fields if getattr(options, name) != getattr(defaults, name)]
    for name in chosen:
        if name in _UNUSED:
            raise Refused(
                "A conversation does not use the option {name}. {unused}", name=name, unused=_UNUSED[name]
            )
    if isinstance(model, Agent):
        own = [name for name in chosen if name not in _USED_WITH_AGENT]
        if thinking is not None:
            own.append("thinking")
        if own:
            raise Refused("An agent has its own settings. Set {own} in the agent.", own=", ".join(own))


def _as_tool(tool: Callable[..., Any] | Tool) -> Tool:
    return tool if isinstance(tool, Tool) else from_function(tool)
