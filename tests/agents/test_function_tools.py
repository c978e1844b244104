"""Python functions as tools: their schema, and the validation of arguments."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import functools
import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import Meta
from tests.patience import PATIENCE_S

from thinkaloud.agents.tools import (
    Tool,
    ToolOutcome,
    call_tool,
    from_function,
)
from thinkaloud.client.json_schema import MAX_SCHEMA_NODES, inline_references
from thinkaloud.core.canon import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(msgspec.Struct):
    """A place."""

    x: int
    y: float = 0.5


@dataclass
class Box:
    at: Point
    label: str = ""


class Note(TypedDict):
    text: str
    stars: NotRequired[int]


class Tree(msgspec.Struct):
    children: list[Tree] = []


def tool_outcome(tool: Tool, **arguments: Any) -> ToolOutcome:
    return asyncio.run(call_tool(tool, json.dumps(arguments)))


def schema(tool: Tool) -> dict[str, Any]:
    decoded = json.loads(tool.definition.parameters)
    assert isinstance(decoded, dict)
    return decoded


def refusal(function: Callable[..., Any], name: str = "") -> str:
    with pytest.raises(Refused) as caught:
        from_function(function, name=name)
    return str(caught.value)


def weather(town: str, days: Annotated[int, Meta(ge=1, le=14)] = 3, *, unit: Literal["C", "F"] = "C") -> str:
    """Tell the weather of a town
    for some days.

    It is made up.

    Args:
        town (str): The name: as on a map,
            in any language.

        unit: C or F.

    Returns:
        days: not an argument.
    """
    return f"{town} {days} {unit}"


def test_signature_and_docstring_make_the_definition() -> None:
    tool = from_function(weather)
    assert tool.definition.name == "weather"
    assert tool.definition.description == "Tell the weather of a town for some days."
    assert schema(tool) == {
        "type": "object",
        "properties": {
            "town": {"type": "string", "description": "The name: as on a map, in any language."},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
            "unit": {"enum": ["C", "F"], "default": "C", "description": "C or F."},
        },
        "required": ["town"],
        "additionalProperties": False,
    }
    assert (tool.approval, tool.timeout_s) == (False, 60.0)
    other = from_function(weather, name="forecast", approval=True, timeout_s=5)
    assert (other.definition.name, other.approval, other.timeout_s) == ("forecast", True, 5)


def test_docstring_with_only_arguments_has_no_description() -> None:
    def spell(word: str) -> str:
        """
        Args:
            word: One word.
        """
        return "-".join(word)

    def sing() -> None: ...

    assert from_function(spell).definition.description == ""
    assert schema(from_function(spell))["properties"]["word"]["description"] == "One word."
    assert (schema(from_function(sing))["properties"], tool_outcome(from_function(sing))) == (
        {},
        ToolOutcome(),
    )


def test_defaults_come_from_the_function() -> None:
    tool = from_function(weather)
    assert tool_outcome(tool, town="Faro") == ToolOutcome("Faro 3 C")
    assert tool_outcome(tool, town="Faro", days=1, unit="F") == ToolOutcome("Faro 1 F")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "Object missing required field `town`"),
        ({"town": 3}, "Expected `str`, got `int` - at `$.town`"),
        ({"town": "Faro", "days": "3"}, "Expected `int`, got `str` - at `$.days`"),
        ({"town": "Faro", "days": 15}, "Expected `int` <= 14 - at `$.days`"),
        ({"town": "Faro", "unit": "K"}, "Invalid enum value 'K' - at `$.unit`"),
        ({"town": "Faro", "wind": True}, "Object contains unknown field `wind`"),
    ],
)
def test_invalid_arguments_are_named(arguments: dict[str, Any], why: str) -> None:
    assert tool_outcome(from_function(weather), **arguments).error == (
        f"The arguments are not valid for weather: {why}. Its arguments are: town, days, unit. "
        "Correct them and call again."
    )


def everything(  # noqa: PLR0913 one of each kind
    word: str,
    count: int,
    share: float,
    sure: bool,
    colour: Colour,
    mixed: Literal["a", 2, None],
    maybe: int | str | None,
    many: list[int],
    pair: tuple[int, str],
    by_name: dict[str, float],
    point: Point,
    box: Box,
    note: Note,
    some: Annotated[list[Annotated[str, Meta(max_length=2)]], Meta(max_length=2)],
) -> None:
    """Take everything."""


ARGUMENTS: dict[str, Any] = {
    "word": "w",
    "count": 1,
    "share": 0.5,
    "sure": True,
    "colour": "red",
    "mixed": "a",
    "maybe": None,
    "many": [1],
    "pair": [1, "b"],
    "by_name": {"a": 1},
    "point": {"x": 1},
    "box": {"at": {"x": 1, "y": 2}, "label": "b"},
    "note": {"text": "t"},
    "some": ["ab"],
}
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["a", "red", "abc", 2, 1.0, -0.0, 1e300])
)
KEYS = st.sampled_from(["x", "y", "at", "label", "text", "stars", "other"])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner))
EVERYTHING = from_function(everything)
VALIDATOR = Draft202012Validator(schema(EVERYTHING))


def test_schema_is_valid_and_has_no_references() -> None:
    Draft202012Validator.check_schema(schema(EVERYTHING))
    assert "$" not in EVERYTHING.definition.parameters
    assert schema(EVERYTHING)["properties"]["box"]["properties"]["at"]["required"] == ["x"]
    assert tool_outcome(EVERYTHING, **ARGUMENTS) == ToolOutcome()


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(ARGUMENTS)), VALUES)
@example("count", 2.0)
@example("mixed", 2.0)
@example("mixed", True)
@example("sure", 1)
@example("pair", [1])
@example("pair", [1.0, "b", 3])
@example("box", {"at": {}})
@example("note", {"text": "t", "stars": "many"})
@example("some", ["a", "b", "c"])
def test_schema_accepts_what_the_function_accepts(argument: str, value: Any) -> None:
    """Arguments are accepted by the schema if and only if the function accepts them."""
    arguments = {**ARGUMENTS, argument: value}
    assert VALIDATOR.is_valid(arguments) == (not tool_outcome(EVERYTHING, **arguments).error)


def test_number_beyond_a_float_is_reported() -> None:
    assert (
        "Number out of range - at `$.share`"
        in tool_outcome(EVERYTHING, **{**ARGUMENTS, "share": 10**400}).error
    )


def test_arguments_are_converted_to_their_types() -> None:
    received: list[object] = []

    def note_down(box: Box, pair: tuple[int, str], colour: Colour, counts: dict[int, str]) -> None:
        received.extend([box, pair, colour, counts])

    outcome = tool_outcome(
        from_function(note_down), box={"at": {"x": 2.0}}, pair=[1, "a"], colour="blue", counts={"1": "a"}
    )
    assert outcome == ToolOutcome()
    assert received == [Box(Point(2)), (1, "a"), Colour.BLUE, {1: "a"}]


def test_default_without_json_form_is_kept() -> None:
    shared = Point(7)

    def where(point: Point = shared, words: list[str] = ["a"]) -> str:  # noqa: B006 what is under test
        return f"{point is shared} {words}"

    tool = from_function(where)
    assert tool_outcome(tool) == ToolOutcome("True ['a']")
    assert "default" not in schema(tool)["properties"]["words"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, ""),
        (3, "3"),
        (Colour.RED, '"red"'),
        ([Point(1)], '[{"x":1,"y":0.5}]'),
    ],
)
def test_results_are_text_or_json(value: object, text: str) -> None:
    def give() -> object:
        return value

    async def give_later() -> object:
        return value

    assert tool_outcome(from_function(give)) == tool_outcome(from_function(give_later)) == ToolOutcome(text)


def test_result_without_json_form_is_a_fault() -> None:
    def give() -> object:
        return object()

    assert tool_outcome(from_function(give)).error.startswith(
        "give failed with TypeError: Encoding objects of type"
    )


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def add(self, amount: int) -> int:
        """Count on."""
        self.count += amount
        return self.count

    async def reset(self) -> None:
        self.count = 0


def test_methods_can_be_tools() -> None:
    counter = Counter()
    tool = from_function(counter.add)
    assert tool_outcome(tool, amount=2) == ToolOutcome("2")
    assert tool_outcome(tool, amount=3) == ToolOutcome("5")
    assert tool_outcome(from_function(counter.reset)) == ToolOutcome()
    assert counter.count == 0
    assert list(schema(tool)["properties"]) == ["amount"]


def test_arguments_of_a_partial_are_not_offered() -> None:
    tool = from_function(functools.partial(functools.partial(weather, "Faro"), unit="F"))
    assert tool.definition.name == "weather"
    assert list(schema(tool)["properties"]) == ["days"]
    assert tool_outcome(tool, days=2) == ToolOutcome("Faro 2 F")
    assert "unknown field `unit`" in tool_outcome(tool, unit="C").error

    async def later(town: str, key: str) -> str:
        return town + key

    assert tool_outcome(from_function(functools.partial(later, key="!")), town="Faro") == ToolOutcome("Faro!")


def test_decorated_functions_have_the_wrapped_definition() -> None:
    @functools.wraps(weather)
    def louder(*args: Any, **kwargs: Any) -> str:  # the shape of every decorator
        return weather(*args, **kwargs).upper()

    assert tool_outcome(from_function(louder), town="Faro") == ToolOutcome("FARO 3 C")


def test_function_that_returns_an_awaitable_is_awaited() -> None:
    async def later() -> str:
        return "later"

    def at_once() -> Any:
        return later()

    assert tool_outcome(from_function(at_once)) == ToolOutcome("later")


def test_sync_functions_do_not_block_the_loop_and_see_its_context() -> None:
    asker = contextvars.ContextVar[str]("asker")

    def who() -> str:
        return f"{asker.get()} {threading.current_thread() is threading.main_thread()}"

    asker.set("ana")
    assert tool_outcome(from_function(who)) == ToolOutcome("ana False")


def test_cancelled_sync_function_is_abandoned_immediately() -> None:
    started, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def stuck() -> None:
        started.set()
        go_on.wait()
        over.set()

    async def story() -> None:
        task = asyncio.create_task(call_tool(from_function(stuck), ""))
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not over.is_set()

    asyncio.run(story())  # ends, though the thread has not
    go_on.set()
    assert over.wait(PATIENCE_S)


@pytest.mark.parametrize("raised", [ValueError("bad"), StopIteration()])
def test_exceptions_of_a_thread_are_reported(raised: Exception) -> None:
    def fail() -> None:
        raise raised

    assert type(raised).__name__ in tool_outcome(from_function(fail)).error


def test_system_exit_of_a_thread_is_raised() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        tool_outcome(from_function(leave))


def bare(town) -> str:  # type: ignore[no-untyped-def]
    return str(town)


def listed(*towns: str) -> None: ...
def named(**towns: str) -> None: ...
def by_place(town: str, /) -> None: ...
def unknown(town: Iterator[str]) -> None: ...
def opaque(town: threading.Event) -> None: ...
def recursive(tree: Tree) -> None: ...
def unclear(town: list[int] | tuple[str, ...]) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (bare, "bare cannot be a tool: town has no type. Annotate it."),
        (
            listed,
            "listed cannot be a tool: models pass arguments by name, which *towns: 'str' does not allow.",
        ),
        (
            named,
            "named cannot be a tool: models pass arguments by name, which **towns: 'str' does not allow.",
        ),
        (
            by_place,
            "by_place cannot be a tool: models pass arguments by name, which town: 'str' does not allow.",
        ),
        (unknown, "unknown cannot be a tool: name 'Iterator' is not defined. Use a function with types"),
        (opaque, "opaque cannot be a tool: type <class 'threading.Event'> is not supported. Use types"),
        (recursive, "recursive cannot be a tool: its arguments need a recursive type."),
        (unclear, "unclear cannot be a tool: Type unions may not contain more than one array-like"),
        (print, "print cannot be a tool: "),
        (lambda: "", "'<lambda>' is not a valid tool name. Pass a name= of 1 to 64 ASCII letters"),
        (Counter(), "'' is not a valid tool name."),
    ],
)
def test_unsuitable_functions_are_refused(function: Callable[..., Any], why: str) -> None:
    assert refusal(function).startswith(why)


@pytest.mark.parametrize("name", ["a b", "é", "x" * 65, "a.b", "a\n"])
def test_invalid_tool_name_is_refused(name: str) -> None:
    assert refusal(weather, name).startswith(f"{name!r} is not a valid tool name")


def test_schema_references_are_inlined() -> None:
    inner = {"type": "string", "description": "inner"}
    inlined_schema = inline_references(
        {
            "type": "object",
            "properties": {
                "default": {"$ref": "#/$defs/In~1ner", "description": "outer"},
                "$ref": {"enum": [{"$ref": "#/nowhere"}]},
                "any": {"anyOf": [{"$ref": "#/definitions/Other"}, True]},
            },
            "default": {"$ref": "#/nowhere"},
            "$defs": {"In/ner": inner, "Unused": {"$ref": "#/$defs/Unused"}},
            "definitions": {"Other": {"$ref": "#/$defs/In~1ner"}},
        }
    )
    assert inlined_schema == {
        "type": "object",
        "properties": {
            "default": {"type": "string", "description": "outer"},
            "$ref": {"enum": [{"$ref": "#/nowhere"}]},
            "any": {"anyOf": [inner, True]},
        },
        "default": {"$ref": "#/nowhere"},
    }


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"$ref": "#"}, "a recursive type"),
        ({"items": {"$ref": "#/items"}}, "a recursive type"),
        ({"$ref": "#/$defs/none"}, "a reference to '#/$defs/none', which the schema does not contain"),
        ({"$ref": "https://acme.invalid/schema"}, "a reference to 'https://acme.invalid/schema'"),
        ({"$ref": 3}, "a reference to '3'"),
        ({"enum": [1], "items": [{}] * MAX_SCHEMA_NODES}, "a schema of more than 5,000 parts"),
        (
            {"$ref": "#/$defs/9", "$defs": {"0": {}}
             | {str(n): {"anyOf": [{"$ref": f"#/$defs/{n - 1}"}] * 9} for n in range(1, 10)}},
            "a schema of more than 5,000 parts",
        ),
    ],
)  # fmt: skip
def test_recursive_schemas_are_refused(bad: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as caught:
        inline_references(bad)
    assert str(caught.value).startswith(why)


def test_too_deep_schema_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"items": deep}
    with pytest.raises(Refused, match="nested too deeply"):
        inline_references(deep)
