"""The Flutter block in a real browser: keys, what is read out, motion, direction, text size and long text."""

import asyncio
import gc
import math
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

import flet as ft
import pytest
from tests.flutter.flet_site import FletScreen

from thinkaloud.core.canon import (
    ApprovalAsked,
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    OutOfOrder,
    Refused,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.surfaces.flutter import (
    KoderThinkingBlock,
    ThinkingBlock,
    row_controls,
    thinking_block,
)
from thinkaloud.surfaces.flutter.streamed_text import BOX_HEIGHT

PANEL = "thinking-panel"
THOUGHT = "I need to find recent docs about it. The user asks about layers."
WORDS = (THOUGHT, "The answer.")

# What Flutter has had a screen reader say, in order.
_LISTEN_SCRIPT = """() => {
  window.announced = [];
  window.listener?.disconnect();
  const take = node => node.textContent?.trim() && window.announced.push(node.textContent.trim());
  window.listener = new MutationObserver(records => records.forEach(one => one.addedNodes.forEach(take)));
  window.listener.observe(document.querySelector("flt-announcement-host").querySelector("[aria-live=polite]"),
    {childList: true, subtree: true, characterData: true});
}"""

# How high a node stands in every frame after a click on another one, until it stands at the height `end`.
_MOVES_SCRIPT = """async ([button, below, end]) => {
  const find = name => document.querySelector(`[flt-semantics-identifier="${name}"]`);
  const topNow = () => Math.round(find(below).getBoundingClientRect().top);
  const tops = [topNow()];  // before the click: it may be closed at the first frame after it
  find(button).click();
  while (tops.at(-1) !== end) {
    await new Promise(requestAnimationFrame);
    if (tops.at(-1) !== topNow()) tops.push(topNow());
  }
  return tops;
}"""


def show(screen: FletScreen, block: KoderThinkingBlock) -> KoderThinkingBlock:
    below = ft.Semantics(identifier="below", content=ft.Text("The answer."))
    screen.mount(block, below)
    return block


def run(screen: FletScreen, *works: Callable[[], None]) -> None:
    for work in works:
        screen.site.call(work)
    screen.settle()


def feed(screen: FletScreen, block: KoderThinkingBlock, *events: Event, at_ms: int | None = None) -> None:
    def work() -> None:
        for event in events:
            block.feed(Entry(block.turn.seq + 1, event, at_ms))
        block.flush()

    screen.site.call(work)
    screen.settle()


def test_plain_text_with_a_duration_is_a_completed_thought(screen: FletScreen) -> None:
    """R111, T2: `KoderThinkingBlock(content, duration)`; opened it shows its text below one button."""
    block = show(screen, KoderThinkingBlock(THOUGHT, 4.2))
    assert ThinkingBlock is KoderThinkingBlock
    header = screen.found(PANEL)
    assert (header.role, header.expanded, header.tabindex) == ("button", "false", "0")
    assert header.text == "Thought for 4.2s 13 words · I need to find recent docs about it…"
    assert THOUGHT not in screen.texts()
    screen.press(PANEL)
    assert THOUGHT in screen.texts()
    assert block.choices == {-1: True}


def drawn_controls(control: ft.BaseControl) -> list[ft.BaseControl]:
    """Return a control with all that it contains."""
    contents = [getattr(control, "content", None), *getattr(control, "controls", [])]
    inner = [content for content in contents if isinstance(content, ft.BaseControl)]
    return [control, *(part for content in inner for part in drawn_controls(content))]


def test_r077_icon_at_rest_is_a_thought_bubble(screen: FletScreen) -> None:
    """R069 R077: a round outline, and two dots that go away from it to the lower left."""
    block = show(screen, KoderThinkingBlock(THOUGHT, 4.2))
    (icon,) = [control for control in drawn_controls(block) if isinstance(control, ft.Stack)]
    parts: list[Any] = icon.controls
    bubble, first_dot, second_dot = parts
    assert bubble.border is not None
    assert bubble.border_radius == bubble.height / 2, "a square has corners"
    assert bubble.top < first_dot.top < second_dot.top
    assert second_dot.left < first_dot.left < bubble.left + bubble.width / 2


def test_no_content_draws_nothing(screen: FletScreen) -> None:
    """T3: without a thought there is no block, nor an empty one."""
    for content in (None, "", ()):
        show(screen, KoderThinkingBlock(content))
        assert screen.texts() == ["The answer."]


def test_streaming_text_has_a_live_timer_and_keeps_what_the_person_opened(screen: FletScreen) -> None:
    """T1, T4: text that is appended is live; opened by hand it stays open at the end."""
    now_ms = 1_000
    block = show(screen, KoderThinkingBlock(clock=lambda: now_ms))
    run(screen, lambda: block.append("Let me see. "), block.flush)
    now_ms = 3_500
    run(screen, block.redraw)
    header = screen.found(PANEL)
    assert header.text.startswith("Thinking... 2.5s")
    screen.press(PANEL)
    run(screen, lambda: block.append("It is four."), lambda: block.finish(4.2), block.flush)
    header = screen.found(PANEL)
    assert (header.expanded, header.text) == ("true", "Thought for 4.2s 6 words")
    assert "Let me see. It is four." in screen.texts()


def test_enter_and_space_open_and_close_from_the_keyboard(screen: FletScreen) -> None:
    """R133: the header is reached by Tab, and Enter and Space press it; the focus stays there."""
    show(screen, KoderThinkingBlock(THOUGHT, 4.2))
    screen.page.keyboard.press("Tab")
    screen.page.locator(f"[flt-semantics-identifier={PANEL}]").focus()
    for key, expanded in (("Enter", "true"), ("Space", "false"), ("Space", "true"), ("Enter", "false")):
        screen.page.keyboard.press(key)
        selector = f"[flt-semantics-identifier={PANEL}][aria-expanded={expanded}]"
        screen.page.wait_for_selector(selector, state="attached")
        focused = screen.page.evaluate("document.activeElement.getAttribute('flt-semantics-identifier')")
        assert focused == PANEL


def test_thinking_is_announced_once_at_its_start_and_once_at_its_end(screen: FletScreen) -> None:
    """R134, R135: neither deltas nor the running clock are read out, nor thinking of the past."""
    now_ms = 0
    block = KoderThinkingBlock(clock=lambda: now_ms)
    screen.mount()
    screen.page.evaluate(_LISTEN_SCRIPT)
    screen.mount(KoderThinkingBlock(THOUGHT, 4.2), block)
    while now_ms < 4_000:
        run(screen, lambda: block.append("More of it. "), block.flush, block.redraw)
        now_ms += 600
    run(screen, block.finish, block.flush)
    screen.page.wait_for_function("() => window.announced.length > 1")
    assert screen.page.evaluate("window.announced") == ["Thinking...", "Thought for 4.2s"]


def test_thinking_itself_is_read_out_where_the_policy_says_so(
    screen: FletScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R134: `live_region` is `content`, then `off`. While a call works, its name is read, and no old line."""
    monkeypatch.setattr(row_controls, "READ_EVERY_S", 0)
    screen.mount()
    screen.page.evaluate(_LISTEN_SCRIPT)
    block = show(screen, KoderThinkingBlock(policy={"live_region": "content"}))
    run(screen, lambda: block.append("One line.\nAnother line"), block.flush)
    run(screen, block.redraw)
    screen.page.wait_for_function("() => window.announced.length > 1")
    feed(screen, block, BlockEnded(0), BlockStarted(1, Kind.TOOL_CALL, "search"))
    screen.page.wait_for_function("() => window.announced.length > 2")
    run(screen, lambda: block.apply_policy({"live_region": "off"}), block.redraw)
    assert screen.page.evaluate("window.announced") == ["Thinking...", "Another line", "Calling search…"]


def test_collapse_moves_smoothly_and_is_instant_with_reduced_motion(
    screen: FletScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T2, T6, R136: what is below moves over several frames, or in one for a person who asked for that."""
    monkeypatch.setattr(thinking_block, "MOTION", ft.Animation(2_000))  # a busy machine draws few frames
    text = "\n".join(["A line of a thought."] * 8)

    def moves(motion: Literal["reduce", "no-preference"]) -> list[int]:
        screen.prefer_motion(motion)
        block = show(screen, KoderThinkingBlock(text, 4.2))
        screen.wait_until(lambda: block.motion_reduced is (motion == "reduce"))
        closed_px = screen.top("below")
        screen.press(PANEL)
        screen.wait_until(lambda: screen.top("below") > closed_px + 100)
        tops: list[int] = screen.page.evaluate(_MOVES_SCRIPT, [PANEL, "below", round(closed_px)])
        return tops

    try:
        assert len(moves("no-preference")) > 2
    finally:
        assert len(moves("reduce")) == 2  # also for the tests that follow


def test_right_to_left_mirrors_the_block(screen: FletScreen) -> None:
    block = KoderThinkingBlock(THOUGHT, 4.2)
    show(screen, block)
    screen.press(PANEL)
    left = next(node for node in screen.nodes() if node.text == THOUGHT)

    def mirror() -> None:
        block.rtl = True
        block.redraw()

    run(screen, mirror)
    right = next(node for node in screen.nodes() if node.text == THOUGHT)
    assert math.isclose(left.left, 800 - (right.left + right.width), abs_tol=12)


def test_larger_text_makes_the_block_higher_and_hides_nothing(screen: FletScreen) -> None:
    """The text size of the browser is followed, up to twice the size."""
    show(screen, KoderThinkingBlock(THOUGHT, 4.2))
    screen.press(PANEL)
    before = {node.text: node.height for node in screen.nodes()}
    try:
        screen.page.evaluate("document.documentElement.style.fontSize = '32px'")
        screen.wait_until(lambda: all(screen.height(text) > 1.5 * before[text] for text in WORDS))
        assert {node.text for node in screen.nodes()} == before.keys()
    finally:
        screen.page.evaluate("document.documentElement.style.fontSize = ''")
        screen.wait_until(lambda: all(screen.height(text) == before[text] for text in WORDS))


def test_assistants_three_deep_with_an_approval_that_waits(screen: FletScreen) -> None:
    """R102, R109, R110: each level has a button of its own, indented, and says who waits, and with what."""
    block = show(screen, KoderThinkingBlock(policy={"preset": "trace"}))
    events: list[Event] = [TurnStarted()]
    for depth, name in enumerate(("Planner", "Researcher", "Reader")):
        parent = depth - 1 if depth else None
        events += [
            BlockStarted(depth, Kind.ASSISTANT_CALL, name, parent=parent),
            BlockGrew(depth, f"Task {depth}"),
            BlockEnded(depth),
        ]
    events += [BlockStarted(3, Kind.TOOL_CALL, "shell", parent=2), BlockGrew(3, '{"command": "ls"}')]
    feed(screen, block, *events, BlockEnded(3), ApprovalAsked(3))
    names = [f"thinking-{number}" for number in range(4)]
    nodes = [node for node in screen.nodes() if node.name in names]
    assert [node.name for node in nodes] == names
    labels = [
        "Planner is working… Task 0",
        "Researcher is working… Task 1",
        "Reader is working… Task 2",
        "shell waits for approval command: ls",
    ]
    assert [node.text for node in nodes] == labels
    lefts = [node.left for node in nodes]
    assert lefts == sorted(set(lefts))
    screen.press("thinking-1")
    assert [node.name for node in screen.nodes() if node.name in names] == names[:2]


def test_half_a_character_and_control_characters_are_shown_safely(screen: FletScreen) -> None:
    show(screen, KoderThinkingBlock("a\ud83d b\u202ec \x1b[31md", 1))
    screen.press(PANEL)
    assert "a\ufffd bc d" in screen.texts()


def test_long_thought_streams_while_the_person_opens_and_closes_it(screen: FletScreen) -> None:
    """R105, R106: 1 MB in a box that follows its end; opened, closed and opened again, no word is lost."""
    block = show(screen, KoderThinkingBlock(policy={"preset": "koder"}))
    feed(screen, block, TurnStarted(), BlockStarted(0, Kind.REASONING), at_ms=0)
    line = "The quick brown fox jumps over the lazy dog, and again. "
    for part in range(4):
        feed(screen, block, *[BlockGrew(0, f"{part}.{n} {line * 20}\n") for n in range(230)])
        if part == 0:
            screen.press(PANEL)  # the rest streams into an open box
    assert len(block.turn.reasoning) > 1_000_000
    screen.press(PANEL)
    screen.press(PANEL)
    feed(screen, block, BlockGrew(0, "the very last line"), at_ms=9_000)
    screen.page.wait_for_function(
        "() => [...document.querySelectorAll('flt-semantics')].some(n => n.textContent.includes('very last'))"
    )

    def box_is_low() -> bool:
        # Flutter makes nodes anew while it draws: each may be missing for a moment, or be where it was.
        below, header = screen.node("below"), screen.node(PANEL)
        return below is not None and header is not None and below.top - header.top < BOX_HEIGHT + 120

    screen.wait_until(box_is_low)
    feed(screen, block, BlockEnded(0), TurnEnded(Finish.STOP), at_ms=9_100)
    assert screen.found(PANEL).expanded == "true"


def test_two_blocks_stream_at_once_and_one_is_removed(screen: FletScreen) -> None:
    """Each has its own text and choices; a removed one goes on, and is whole when it is shown again."""
    first, second = (KoderThinkingBlock(policy={"preset": "trace"}) for _ in range(2))
    screen.mount(first, second)
    run(screen, lambda: first.append("From the first."), lambda: second.append("From the second."))
    screen.wait_until(lambda: {"From the first.", "From the second."} <= set(screen.texts()))
    screen.mount(second)
    run(screen, lambda: first.append(" And more."), lambda: second.append(" And more."), second.flush)
    assert "From the second. And more." in screen.texts()
    assert not any("first" in text for text in screen.texts())
    screen.mount(first)
    screen.wait_until(lambda: "From the first. And more." in screen.texts())


def test_nothing_is_left_of_blocks_that_were_removed_while_they_streamed(screen: FletScreen) -> None:
    blocks: list[weakref.ref[KoderThinkingBlock]] = []

    def show_some() -> None:
        shown = [KoderThinkingBlock() for _ in range(25)]
        screen.flet_page.controls = [*shown, screen.mark]
        screen.flet_page.update()
        for block in shown:
            block.append("Let me see.")
            block.flush()
            blocks.append(weakref.ref(block))

    def left() -> tuple[int, int]:
        gc.collect()
        return sum(block() is not None for block in blocks), len(asyncio.all_tasks())

    screen.mount()
    _, tasks_before = screen.site.call(left)
    for _ in range(8):
        screen.site.call(show_some)
    screen.mount()
    screen.wait_until(lambda: screen.site.call(left) <= (0, tasks_before))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"content": 5}, TypeError, "content must be a text, a Turn, entries of a turn, or None, not int"),
        ({"content": b"abc"}, TypeError, "content must be"),
        ({"content": ["abc"]}, TypeError, "entry must be an Entry with its sequence number and event"),
        ({"content": [Entry(0, BlockGrew(7, "x"), 0)]}, OutOfOrder, "block 7 has not started"),
        ({"content": "a", "duration": "4"}, TypeError, "duration must be seconds, a timedelta, or None, not"),
        ({"content": "a", "duration": -1}, ValueError, "duration must be zero or more seconds, not -1"),
        ({"content": "a", "duration": math.nan}, ValueError, "duration must be zero or more seconds"),
        ({"content": "a", "duration": 1e300}, ValueError, "duration must be zero or more seconds"),
        ({"content": [], "duration": 4}, ValueError, "duration is for a text"),
        ({"auto_close": "no"}, TypeError, "auto_close must be True or False, not str"),
        ({"policy": "trace"}, TypeError, "policy must be a Policy, its settings as a dict, or None, not str"),
        ({"policy": {"preset": "x"}}, Refused, "Use one of: koder"),
        ({"policy": {"colour": "red"}}, Refused, "unknown field `colour`"),
        ({"content": "a", "locale": "xx"}, Refused, "Unknown language: 'xx'. Use one of"),
        ({"locale": 5}, TypeError, "locale must be the name of a language, not int"),
        ({"clock": 5}, TypeError, "clock must be a function"),
    ],
)
def test_wrong_argument_is_refused_by_name(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        KoderThinkingBlock(**arguments)


def test_wrong_use_of_a_method_is_refused_and_changes_nothing() -> None:
    block: Any = KoderThinkingBlock("Done.", timedelta(seconds=4))
    wrong_uses: list[Callable[[], object]] = [
        lambda: block.append(None),
        lambda: block.feed(TurnStarted()),
        lambda: block.finish("4"),
        lambda: block.show_turn("x"),
        lambda: block.apply_policy("trace"),
    ]
    for use in wrong_uses:
        with pytest.raises(TypeError, match=" must be "):
            use()
    with pytest.raises(OutOfOrder, match="`append` cannot follow `finish`"):
        block.append("More.")
    assert block.view.header.endswith("Thought for 4s · 1 word — Done.")


def test_finished_thought_opens_at_its_beginning_while_the_turn_goes_on(screen: FletScreen) -> None:
    """Only a thought that streams is followed at its end."""
    text = "\n".join(f"line {n} of a long thought" for n in range(2_000))
    events: list[Event] = [TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, text), BlockEnded(0)]
    block = KoderThinkingBlock([Entry(seq, event, seq) for seq, event in enumerate(events)])
    screen.mount(block)
    screen.press("thinking-panel")
    screen.wait_until(lambda: any("line 0 of" in text for text in screen.texts()))
    screen.settle()
    assert not any("line 1999 of" in text for text in screen.texts())
