"""Reads agents.toml: the included agents, with the fields of the user's file over them.

An agent only names its tools. The owner of the file defines them there: a Python function in `[functions]`,
an MCP server in `[mcp.NAME]`. An error names the file and the row.
"""

import importlib
import math
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.mcp import McpServer
from thinkaloud.agents.spec import Agent, RunLimits, assemble
from thinkaloud.agents.tools import TOOL_NAME, Tool, from_function
from thinkaloud.client.json_schema import checked_schema
from thinkaloud.client.prepared_request import parse_thinking
from thinkaloud.core.canon import Refused, Wording, reason_of
from thinkaloud.core.canon.requests import RequestOptions, options_of

FILE_NAME = "agents.toml"
SEARCH_SESSIONS = "search_sessions"
"""A tool of the gateway only, because only the gateway stores sessions."""

_Seconds = Annotated[float, msgspec.Meta(gt=0)]
RowT = TypeVar("RowT", bound=msgspec.Struct)


class AgentConfig(RequestOptions, frozen=True, kw_only=True):
    """`[agents.NAME]`: an agent, with the names of its tools and assistants."""

    model: Annotated[str, msgspec.Meta(min_length=1)]
    name: str = ""
    description: str = ""
    summary_model: str = ""
    tools: tuple[str, ...] = ()
    assistants: tuple[str, ...] = ()
    limits: RunLimits = RunLimits()
    """TOML has no null: `seconds = inf` removes that limit."""


class McpConfig(McpServer, frozen=True, kw_only=True):
    """`[mcp.NAME]`: an MCP server."""

    timeout_s: _Seconds = 60.0


class FunctionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`[functions.NAME]`, or `NAME = "module:function"` for short: a Python function as a tool."""

    source: str = msgspec.field(name="from")
    approval: bool = False
    timeout_s: _Seconds = 60.0


class AgentFile(msgspec.Struct, frozen=True):
    """All rows by name. `path` is the user's file, which may not exist."""

    agents: dict[str, AgentConfig]
    mcp: dict[str, McpConfig]
    functions: dict[str, FunctionConfig]
    path: str = ""
    sources: dict[tuple[str, str], str] = {}

    def location(self, section: str, key: str) -> str:
        """Return the file and name of a row, for the beginning of an error message."""
        return f"{self.sources.get((section, key), self.path or FILE_NAME)}: [{section}.{key}]"

    def row(self, name: str) -> AgentConfig:
        """Return the row of an agent, or refuse an unknown name."""
        if name not in self.agents:
            agents = ", ".join(self.agents)
            parts = [
                Wording("There is no agent {name}. Available: {agents}.", name=repr(name), agents=agents)
            ]
            if self.path:
                parts.append(Wording("Add your own in {path}.", path=self.path))
            raise Refused(wording=Wording.join(parts))
        return self.agents[name]

    def tool_names(self, name: str) -> tuple[str, ...]:
        """Return the tool names of an agent and all its assistants, each once."""
        seen: dict[str, AgentConfig] = {}
        pending = [name]
        while pending:
            current = pending.pop()
            if current not in seen:
                seen[current] = self.row(current)
                pending += seen[current].assistants
        return tuple(dict.fromkeys(tool for row in seen.values() for tool in row.tools))


def read_agents(path: Path) -> AgentFile:
    """Return the included agents with the user's file over them, if the file exists."""
    if not path.is_file():
        return msgspec.structs.replace(builtin_agents(), path=str(path))
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else Wording("it is not UTF-8 text")
        raise Refused(
            "{path} cannot be read: {reason}. Correct it, or move it.", path=path, reason=reason
        ) from None
    return _parse({FILE_NAME: _builtin_text(), str(path): text}, str(path))


@cache
def builtin_agents() -> AgentFile:
    """Return the included agents."""
    return _parse({FILE_NAME: _builtin_text()})


def build_agent(file: AgentFile, name: str, tools: Mapping[str, tuple[Tool, ...]]) -> Agent:
    """Return an agent with its assistants. `tools` has the tools of each name in `file.tool_names(name)`."""

    def lookup(key: str) -> tuple[Agent, tuple[str, ...]]:
        row = file.row(key)
        own_tools = dict.fromkeys(tool for tool_name in row.tools for tool in tools[tool_name])
        return agent_from_config(key, row, tuple(own_tools)), row.assistants

    try:
        return assemble(name, lookup)
    except Refused as error:
        if name not in file.agents:
            raise
        place = file.location("agents", name)
        raise Refused("{place}: {reason}", place=place, reason=reason_of(error)) from None


def local_tools(file: AgentFile) -> Mapping[str, Tool]:
    """Return the tools that run in this process: the built-in tools and the functions of the file.

    A function is imported when it is first looked up. Raises `Refused` if it cannot be used as a tool.
    """
    return _LocalTools(file)


class _LocalTools(Mapping[str, Tool]):
    def __init__(self, file: AgentFile) -> None:
        self._file = file
        self._tools = builtin_tools()
        self._builtin = tuple(self._tools)

    def __getitem__(self, name: str) -> Tool:
        if name not in self._tools:
            location = self._file.location("functions", name)
            self._tools[name] = _function_tool(name, self._file.functions[name], location, self._file.path)
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return (
            name in self._tools or name in self._file.functions
        )  # the inherited method would import the function

    def __iter__(self) -> Iterator[str]:
        return iter((*self._builtin, *self._file.functions))

    def __len__(self) -> int:
        return len(self._builtin) + len(self._file.functions)


def agent_from_config(key: str, row: AgentConfig, tools: tuple[Tool, ...] = ()) -> Agent:
    """Return the agent of a row, without its assistants."""
    seconds = row.limits.seconds
    unlimited = seconds is not None and math.isinf(seconds)
    return Agent(
        **options_of(row),
        name=row.name or key[:1].upper() + key[1:],
        id=key,
        description=row.description,
        model=row.model,
        summary_model=row.summary_model,
        tools=tools,
        limits=msgspec.structs.replace(row.limits, seconds=None) if unlimited else row.limits,
    )


def _function_tool(name: str, row: FunctionConfig, location: str, path: str) -> Tool:
    module_name, _, attributes = row.source.partition(":")
    if not module_name or not attributes:
        raise Refused(
            '{location}: {source} does not name a function. Write from = "module:function".',
            location=location,
            source=repr(row.source),
        )
    folder = str(Path(path).parent)
    if path and folder not in sys.path:
        # At the end, so that a file beside agents.toml cannot replace an installed module.
        sys.path.append(folder)
    try:
        function: Any = importlib.import_module(module_name)
        for attribute in attributes.split("."):
            function = getattr(function, attribute)
    except (Exception, SystemExit) as error:  # noqa: BLE001 the user's module may raise anything
        raise Refused(
            "{location}: {source} cannot be imported ({name}: {reason}). Use a function of an "
            "installed package, or of a file in {folder}.",
            location=location,
            source=row.source,
            name=type(error).__name__,
            reason=reason_of(error),
            folder=folder,
        ) from None
    try:
        return from_function(function, name=name, approval=row.approval, timeout_s=row.timeout_s)
    except Refused as error:
        raise Refused("{location}: {reason}", location=location, reason=reason_of(error)) from None


def _builtin_text() -> str:
    return (resources.files("thinkaloud.agents") / FILE_NAME).read_text("utf-8")


def _parse(texts: Mapping[str, str], path: str = "") -> AgentFile:
    """Merge the rows of these texts, given by file name. Later files override single fields."""
    rows: dict[str, dict[str, dict[str, Any]]] = {"agents": {}, "mcp": {}, "functions": {}}
    sources: dict[tuple[str, str], str] = {}
    for source, text in texts.items():
        for section, key, fields in _parse_rows(text, source, rows):
            rows[section].setdefault(key, {}).update(fields)
            sources[section, key] = source

    def decode_section(section: str, kind: type[RowT]) -> dict[str, RowT]:
        return {
            key: _decode_row(row, kind, f"{sources[section, key]}: [{section}.{key}]", key)
            for key, row in rows[section].items()
        }

    file = AgentFile(
        decode_section("agents", AgentConfig),
        decode_section("mcp", McpConfig),
        decode_section("functions", FunctionConfig),
        path,
        sources,
    )
    _check(file)
    return file


def _parse_rows(
    text: str, source: str, known_sections: Collection[str]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    try:
        sections = msgspec.toml.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Refused(
            "{source} is not valid TOML: {reason}. Correct that line.", source=source, reason=reason_of(error)
        ) from None
    for section, rows in sections.items():
        if section not in known_sections:
            raise Refused(
                "{source}: unknown section [{section}]. Use [agents.NAME], [mcp.NAME] and [functions].",
                source=source,
                section=section,
            )
        for key, fields in rows.items() if isinstance(rows, dict) else [("", rows)]:
            if section == "functions" and isinstance(fields, str):
                fields = {"from": fields}
            if not isinstance(fields, dict):
                raise Refused(
                    "{source}: [{section}] may contain only tables. Write [{section}.NAME].",
                    source=source,
                    section=section,
                )
            yield section, key, fields


def _decode_row(fields: dict[str, Any], kind: type[RowT], location: str, key: str) -> RowT:
    implied = {"name": key} if kind is McpConfig else {}
    _refuse_unknown_fields(fields, kind, location, implied)
    if isinstance(limits := fields.get("limits"), dict):
        _refuse_unknown_fields(limits, RunLimits, f"{location[:-1]}.limits]")
    try:
        return msgspec.convert({**fields, **implied}, kind)
    except msgspec.ValidationError as error:
        raise Refused(
            "{location}: {reason}. Correct the field.", location=location, reason=reason_of(error)
        ) from None


def _refuse_unknown_fields(
    fields: Collection[str], kind: type[msgspec.Struct], location: str, implied: Collection[str] = ()
) -> None:
    required_first = sorted(msgspec.structs.fields(kind), key=lambda field: not field.required)
    known = [field.encode_name for field in required_first if field.encode_name not in implied]
    if unknown := [name for name in fields if name not in known]:
        raise Refused(
            "{location}: unknown field {unknown}. The fields are: {known}.",
            location=location,
            unknown=repr(unknown[0]),
            known=", ".join(known),
        )


def _check(file: AgentFile) -> None:
    builtin_names = (*builtin_tools(), SEARCH_SESSIONS)
    for section, keys in (("functions", file.functions), ("mcp", file.mcp)):
        for key in keys:
            location = file.location(section, key)
            if not TOOL_NAME.fullmatch(key):
                raise Refused(
                    "{location}: not a valid tool name. Use 1 to 64 ASCII letters, digits, _ and -.",
                    location=location,
                )
            if key in builtin_names or (section == "mcp" and key in file.functions):
                raise Refused(
                    "{location}: there is another tool called {key}. Choose another name.",
                    location=location,
                    key=key,
                )
    for key, server in file.mcp.items():
        if bool(server.command) == bool(server.url):
            raise Refused(
                '{place}: a server needs either a command or a url. Write command = ["program", '
                '"argument"], or url = "https://...".',
                place=file.location("mcp", key),
            )
    for key in file.agents:
        _check_agent(file, key, (*builtin_names, *file.functions, *file.mcp))
    no_tools: dict[str, tuple[Tool, ...]] = {tool: () for row in file.agents.values() for tool in row.tools}
    for key in sorted(file.agents, key=lambda key: file.sources["agents", key] == FILE_NAME):
        build_agent(file, key, no_tools)  # the user's rows first, so that an error names one of them


def _check_agent(file: AgentFile, key: str, tools: Collection[str]) -> None:
    row, location = file.agents[key], file.location("agents", key)
    for tool in row.tools:
        server, _, tool_name = tool.partition("/")
        if tool not in tools and not (tool_name and server in file.mcp):
            raise Refused(
                "{location}: there is no tool {tool}. Available: {tools}, and SERVER/TOOL for a "
                "single tool of an MCP server. Add others in [functions] or [mcp.NAME].",
                location=location,
                tool=repr(tool),
                tools=", ".join(tools),
            )
    if unknown := [assistant for assistant in row.assistants if assistant not in file.agents]:
        raise Refused(
            "{location}: there is no agent {unknown} for `assistants`. Available: {agents}.",
            location=location,
            unknown=repr(unknown[0]),
            agents=", ".join(file.agents),
        )
    for name, limit in msgspec.structs.asdict(row.limits).items():
        if limit is not None and not limit > 0:
            raise Refused(
                "{location}: limits.{name} must be greater than 0. Correct it.", location=location, name=name
            )
    try:
        parse_thinking(row.thinking)
        if row.output_schema is not None:
            checked_schema(row.output_schema)
    except Refused as error:
        raise Refused("{location}: {reason}", location=location, reason=reason_of(error)) from None
