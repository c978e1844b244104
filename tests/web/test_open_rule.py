"""The open rule on the screen: the policy decides until a person does, by real clicks and keys."""

from itertools import product

import pytest
from playwright.sync_api import Page
from tests.web.element_states import (
    WORDS,
    answer_after_thought,
    feed_more,
    running_thought,
    show_block,
    turn_end_in_thought,
)

from thinkaloud.core.view import PRESETS, Policy, RememberScope, open_state, preset

HEADER = "thinking-block [part=summary]"
OPEN = "() => block.shadowRoot.querySelector('details').open"
ENDS = {
    "answered": answer_after_thought(),
    "no answer": turn_end_in_thought({"type": "turn.ended", "finish": "stop"}, interrupted=False),
    "cut": turn_end_in_thought({"type": "turn.ended", "finish": "length"}),
}


def _opened(page: Page) -> bool:
    page.evaluate("() => block.refresh()")
    return bool(page.evaluate(OPEN))


def _expected(policy: Policy, *, live: bool, user: bool | None, unfinished: bool = False) -> bool:
    return open_state(policy, live=live, choice=user, unfinished=unfinished) == "expanded"


def _act(page: Page, act: str) -> None:
    header = page.locator(HEADER)
    if act == "click":
        header.click()
    else:
        header.focus()
        page.keyboard.press(act)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_truth_table(page: Page, name: str) -> None:
    """R068, R070, R073, R074, R105, R133, T4: with and without a person's act while it streams,
    and at its end."""
    policy = preset(name)
    for act, end in product(["none", "click", "Enter", "Space"], ENDS):
        row = f"{act}, {end}"
        show_block(page, running_thought(), id="block", policy={"preset": name}, now=1000)
        user = None
        assert _opened(page) == _expected(policy, live=True, user=None), row
        if act != "none":
            user = not _opened(page)
            _act(page, act)
            assert _opened(page) == user, row
        feed_more(page, ENDS[end])
        assert _opened(page) == _expected(policy, live=False, user=user, unfinished=end != "answered"), row
        page.evaluate("() => block.remove()")


@pytest.mark.parametrize("act", ["click", "Enter", "Space"])
def test_opening_and_closing_by_hand_at_rest(page: Page, act: str) -> None:
    """R092, R097, R133."""
    show_block(page, running_thought() + answer_after_thought(), id="block")
    for expected_open in (True, False, True):
        _act(page, act)
        assert _opened(page) is expected_open


def test_closed_by_hand_stays_closed_while_more_comes(page: Page) -> None:
    show_block(page, running_thought(), id="block", policy={"preset": "trace"}, now=1000)
    page.locator(HEADER).click()
    for at in range(20):
        feed_more(page, [({"type": "block.grew", "block": 0, "text": f" more {at}"}, 100 + at)])
    assert not _opened(page)


def test_a_choice_can_be_given_back(page: Page) -> None:
    show_block(page, running_thought() + answer_after_thought(), id="block")
    page.locator(HEADER).click()
    assert _opened(page)
    page.evaluate("() => { block.open = null; }")
    assert not _opened(page)


def test_blocks_are_independent(page: Page) -> None:
    """T5, R087: what happens to one block happens to no other."""
    for n in range(3):
        show_block(page, running_thought() + answer_after_thought(), id=f"b{n}")
    page.locator("#b1 [part=summary]").click()
    assert page.evaluate("() => [b0, b1, b2].map(one => one.open)") == [False, True, False]


def test_steps_open_on_their_own(page: Page) -> None:
    """R109: nested steps open and close on their own."""
    from tests.web.element_states import working_agent

    show_block(page, working_agent(), id="block", policy={"preset": "trace"}, now=5000)
    header = page.locator("thinking-block li[data-block='4'] > details > summary")
    header.click()
    opened = "n => block.shadowRoot.querySelector(`li[data-block='${n}'] > details`).open"
    assert [page.evaluate(opened, n) for n in (0, 1, 2, 3, 4)] == [False, False, True, False, True]
    header.press("Enter")
    assert page.evaluate(opened, 4) is False


def test_a_page_can_refuse_a_toggle(page: Page) -> None:
    show_block(page, running_thought() + answer_after_thought(), id="block")
    page.evaluate(
        "() => { window.seen = []; block.addEventListener('thinking-toggle', event => { "
        "seen.push(event.detail); event.preventDefault(); }); }"
    )
    page.locator(HEADER).click()
    assert not _opened(page)
    assert page.evaluate("() => seen") == [{"open": True, "by": "user", "block": None}]


def test_focus_inside_counts_as_a_choice(page: Page) -> None:
    show_block(page, running_thought(), id="block", policy={"preset": "trace"}, now=1000)
    page.locator(HEADER).focus()
    page.keyboard.press("Tab")
    feed_more(page, answer_after_thought())
    assert _opened(page)
    assert page.evaluate("() => block.shadowRoot.activeElement.getAttribute('part')") == "body"


def test_a_selection_inside_counts_as_a_choice(page: Page) -> None:
    show_block(page, running_thought(), id="block", policy={"preset": "trace"}, now=1000)
    page.locator("thinking-block .text p").first.dblclick()
    page.evaluate("() => document.activeElement?.shadowRoot?.activeElement?.blur()")
    assert page.evaluate("() => (block.shadowRoot.getSelection?.() ?? getSelection()).toString().length > 0")
    feed_more(page, answer_after_thought())
    assert _opened(page)


def test_a_selection_inside_is_seen_as_safari_tells_it(page: Page) -> None:
    """Safari tells a selection in a shadow tree only to those who name the tree, and takes no options."""
    show_block(page, running_thought(), id="block", policy={"preset": "trace"}, now=1000)
    page.evaluate(
        "() => { delete ShadowRoot.prototype.getSelection; "
        "const told = Selection.prototype.getComposedRanges; "
        "Selection.prototype.getComposedRanges = function (...shadowRoots) { "
        "return told.call(this, {shadowRoots}); }; }"
    )
    page.locator("thinking-block .text p").first.dblclick()
    page.evaluate("() => document.activeElement?.shadowRoot?.activeElement?.blur()")
    feed_more(page, answer_after_thought())
    assert _opened(page)
    page.evaluate("() => { getSelection().empty(); block.remove(); }")
    show_block(page, running_thought(), id="block", policy={"preset": "trace"}, now=1000)
    feed_more(page, answer_after_thought())
    assert not _opened(page)


def test_a_header_with_the_focus_alone_is_no_choice(page: Page) -> None:
    show_block(page, running_thought(), id="block", policy={"preset": "trace"}, now=1000)
    page.locator(HEADER).focus()
    feed_more(page, answer_after_thought())
    assert not _opened(page)


@pytest.mark.parametrize("remember", list(RememberScope))
def test_open_state_of_one_block_is_never_remembered(page: Page, remember: str) -> None:
    """R056: neither by a new element nor over a reload; nothing is stored."""
    turn = running_thought() + answer_after_thought()
    show_block(page, turn, id="block", policy={"remember": remember})
    page.locator(HEADER).click()
    assert _opened(page)
    page.evaluate("() => block.remove()")
    show_block(page, turn, id="block", policy={"remember": remember})
    assert not _opened(page)
    page.locator(HEADER).click()
    page.reload()
    page.wait_for_function("() => window.ready")
    show_block(page, turn, id="block", policy={"remember": remember})
    assert not _opened(page)
    assert page.evaluate("() => [localStorage.length, sessionStorage.length]") == [0, 0]


def test_finding_text_opens_and_counts_as_a_choice(page: Page) -> None:
    show_block(page, running_thought(WORDS), id="block", now=1000)
    assert page.evaluate("() => block.find('FERRY')") == [{"block": 0, "at": WORDS.index("ferry")}]
    feed_more(page, answer_after_thought())
    assert _opened(page)


def test_the_browsers_own_search_opens_a_closed_block(page: Page) -> None:
    """A link to a text in the thinking opens it, and that is the reader's choice."""
    show_block(page, running_thought() + answer_after_thought(), id="block")
    page.wait_for_function("() => block.shadowRoot.querySelector('.text p')")
    page.evaluate(
        "() => { window.by = []; block.addEventListener('thinking-toggle', event => "
        "by.push(event.detail.by)); }"
    )
    page.evaluate(
        "() => { block.shadowRoot.querySelector('details').open = true; }"
    )  # as the browser does it
    page.wait_for_function("() => by.length")
    assert page.evaluate("() => by") == ["find"]
    assert _opened(page)


BELOW = """to => {
  const below = document.createElement("p");
  below.id = "below";
  below.textContent = "Answer";
  below.style.marginBottom = "2000px";
  stage.append(below);
  scrollTo(0, to);
}"""


@pytest.mark.parametrize(
    ("padding_px", "stays"), [(1000, False), (0, True)], ids=["room to scroll", "no room"]
)
def test_closing_by_itself_moves_nothing_the_reader_looks_at(
    page: Page, padding_px: int, stays: bool
) -> None:
    """Where the page cannot scroll back as far as it would become shorter, the block stays open."""
    long = "\n\n".join(f"Paragraph {n}" for n in range(60))
    page.evaluate("above => { stage.style.paddingTop = `${above}px`; }", padding_px)
    show_block(page, running_thought(long), id="block", policy={"preset": "trace"}, now=1000)
    page.evaluate(BELOW, padding_px + 200)
    top_before = page.evaluate("() => below.getBoundingClientRect().top")
    feed_more(page, answer_after_thought())
    assert _opened(page) is stays
    page.wait_for_timeout(300)
    assert page.evaluate("() => below.getBoundingClientRect().top") == pytest.approx(top_before, abs=1)
