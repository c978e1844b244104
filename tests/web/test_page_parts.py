"""What the chat page is made of: search, settings, agents, replay, files, keys; with a real gateway."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.web.page_visits import (
    ANSWER,
    PUZZLE,
    Gateway,
    Visit,
    ask,
    finished,
    gaps,
    gateway_at,
    thought,
    visiting,
)

THOUGHT = "First the marigold, then the fern.\n\nThe marigold wants sun.\n\nSo the fern it is."


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with gateway_at(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, gateway: Gateway) -> Iterator[Visit]:
    gateway.call("/api/preferences", {}, "PUT")
    with visiting(browser, gateway.url) as begun:
        yield begun


def _open(page: Page, nth: int = 0) -> bool:
    return bool(page.evaluate("nth => document.querySelectorAll('thinking-block')[nth].open", nth))


def test_search_over_thoughts_opens_the_block_at_the_hit(visit: Visit, gateway: Gateway) -> None:
    """R138: thoughts are found, and only where they are asked for."""
    gateway.keep("A shady corner", ("what grows here", THOUGHT, "A fern grows there."))
    page = visit.open()
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog.search")
    page.keyboard.type("marigold")
    page.locator(".hit").first.wait_for()
    assert page.locator(".hit").count() == 1
    assert page.locator(".hit mark").first.inner_text() == "marigold"
    page.uncheck("input[value=thoughts]")
    page.wait_for_selector("text=Nothing has these words")
    page.check("input[value=thoughts]")
    page.locator(".hit").click()
    page.wait_for_selector("thinking-block")
    page.wait_for_function("() => document.querySelector('thinking-block').open")
    assert page.locator("dialog").count() == 0
    assert "/0" in page.url


def test_find_in_thinking_counts_and_goes_round(visit: Visit, gateway: Gateway) -> None:
    session = gateway.keep(
        "Finding", ("one", THOUGHT, "A fern."), ("two", "Again the fern.", "Still a fern.")
    )
    page = visit.open(session)
    finished(page, 2)
    page.get_by_role("button", name="Find in thinking").click()
    page.wait_for_selector(".finder")
    page.keyboard.type("fern")
    page.wait_for_selector("text=1 of 3")
    assert _open(page)
    assert page.evaluate("() => CSS.highlights.size") == 1
    for told in ("2 of 3", "3 of 3", "1 of 3"):
        page.keyboard.press("Enter")
        page.wait_for_selector(f"text={told}")
    assert _open(page, 1)
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("text=3 of 3")
    page.keyboard.press("Escape")
    assert page.locator(".finder").count() == 0
    assert page.evaluate("() => CSS.highlights.size") == 0


def test_settings_are_kept_for_the_user_and_seen_in_every_window(visit: Visit, gateway: Gateway) -> None:
    """R054, R055, R062: kept by the gateway, and nothing that is stored changes with them."""
    session = gateway.keep("Settings", ("one", THOUGHT, "A fern."))
    page, other = visit.open(session), visit.open(session)
    finished(other)
    page.bring_to_front()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("When it is done").select_option("expanded")
    page.wait_for_selector("text=Saved")
    page.get_by_label("Screen reader announcements").select_option("off")
    page.wait_for_function(
        "async () => (await (await fetch('/api/preferences')).json()).display.live_region === 'off'"
    )
    kept = gateway.call("/api/preferences")["display"]
    assert (kept["after_complete"], kept["live_region"]) == ("expanded", "off")
    page.wait_for_function("() => document.querySelector('thinking-block').open")
    other.wait_for_function("() => document.querySelector('thinking-block').open")
    page.reload()
    finished(page)
    assert _open(page)
    page.get_by_role("button", name="Settings").click()
    assert page.get_by_label("When it is done").input_value() == "expanded"
    page.get_by_label("Text of thoughts").select_option("plain")
    page.keyboard.press("Escape")
    assert page.get_attribute("thinking-block", "render") == "plain"
    assert gateway.call(f"/api/sessions/{session}/messages")["items"][1]["thinking"] == THOUGHT


def test_another_language_changes_every_word_at_once(visit: Visit, gateway: Gateway) -> None:
    """R126 to R129."""
    session = gateway.keep("Idioma", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Language").select_option("pt-BR")
    page.wait_for_selector("text=Nova conversa")
    assert page.evaluate("() => document.documentElement.lang") == "pt-BR"
    assert "Pensou por" in page.locator("thinking-block").get_by_text("Pensou por").first.inner_text()
    page.reload()
    page.wait_for_selector("text=Nova conversa")
    assert gateway.call("/api/preferences")["language"] == "pt-BR"


def test_a_browser_in_portuguese_is_met_in_portuguese(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path) as gateway, visiting(browser, gateway.url, locale="pt-BR") as visit:
        page = visit.open()
        page.wait_for_selector("text=Pergunte e veja o pensamento")
        page.click(".puzzle >> nth=0")
        finished(page)
        assert page.text_content(".answer") == ANSWER
        assert "Encontrei" in thought(page) or "4 7 8 8" in thought(page)


def test_thinking_is_hidden_and_shown_by_key_and_by_command(visit: Visit, gateway: Gateway) -> None:
    """R115 to R119: `/thinking` and the key do the same, with the same words."""
    session = gateway.keep("Toggle", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    finished(page)
    state = "() => document.querySelector('thinking-block').state.view.open"
    page.keyboard.press("Alt+t")
    page.wait_for_selector("text=Thinking blocks: hidden")
    assert page.evaluate(state) == "hidden"
    page.wait_for_timeout(300)
    assert gateway.call("/api/preferences")["display"]["show_thinking"] is False
    ask(page, "/thinking")
    page.wait_for_selector("text=Thinking blocks: shown")
    assert page.evaluate(state) == "collapsed"
    assert page.locator(".exchange").count() == 1, "the command was sent as a question"


def test_expand_all_and_collapse_all(visit: Visit, gateway: Gateway) -> None:
    session = gateway.keep("All", ("one", THOUGHT, "A fern."), ("two", "Again.", "Still."))
    page = visit.open(session)
    finished(page, 2)
    page.get_by_role("button", name="Expand all thinking").click()
    assert _open(page, 0)
    assert _open(page, 1)
    page.reload()
    finished(page, 2)
    assert _open(page, 0), "what a person opened is closed by a reload"
    page.get_by_role("button", name="Collapse all thinking").click()
    assert not _open(page, 0)
    assert not _open(page, 1)


def test_a_replay_has_a_slider_and_a_speed(visit: Visit) -> None:
    page = visit.open()
    ask(page, PUZZLE)
    finished(page)
    whole = thought(page)
    page.get_by_role("button", name="Replay").click()
    slider = page.get_by_role("slider", name="Moment")
    slider.wait_for()
    page.get_by_role("button", name="Pause").click()
    slider.evaluate("one => { one.value = one.max / 2; one.dispatchEvent(new Event('input')); }")
    half = thought(page)
    assert 0 < len(half) < len(whole)
    assert whole.startswith(half)
    assert page.text_content(".answer") == ""
    slider.evaluate("one => { one.value = 0; one.dispatchEvent(new Event('input')); }")
    assert len(thought(page)) < len(half)
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".answer")).to_have_text(ANSWER, timeout=5_000)
    assert thought(page) == whole
    page.get_by_role("button", name="End replay").click()
    assert page.locator(".replay").count() == 0
    assert page.text_content(".answer") == ANSWER


def test_what_goes_out_comes_in_again(visit: Visit, gateway: Gateway, tmp_path: Path) -> None:
    """R137: with thinking when it is wanted, without when nothing is said."""
    session = gateway.keep("Round trip", ("what grows here", THOUGHT, "A *fern* grows there."))
    page = visit.open(session)

    def exported(*choices: str) -> str:
        page.get_by_role("button", name="Actions for this conversation").click()
        page.get_by_role("button", name="Export").click()
        for choice in choices:
            page.get_by_label(choice).check()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return str(path)

    plain = exported()
    assert Path(plain).suffix == ".md"
    assert "marigold" not in Path(plain).read_text()
    told = exported("Include thinking")
    assert "marigold" in Path(told).read_text()
    whole = exported("JSON")
    assert json.loads(Path(whole).read_text())["title"] == "Round trip"
    for file in (told, whole):
        page.set_input_files("input[type=file]", file)
        page.wait_for_selector("text=Imported: Round trip")
        page.wait_for_function(
            "session => location.hash.startsWith('#ses_') && !location.hash.includes(session)", arg=session
        )
        finished(page)
        assert thought(page) == THOUGHT
        assert page.text_content(".answer") == "A fern grows there."
        page.get_by_role("button", name="Dismiss").last.click()


def test_a_file_that_is_none_is_refused_in_plain_words(visit: Visit, tmp_path: Path) -> None:
    page = visit.open()
    (tmp_path / "other.json").write_text('{"hello": 1}')
    page.set_input_files("input[type=file]", tmp_path / "other.json")
    page.wait_for_selector(".toast.bad")
    assert "not a session of Thinkaloud" in page.inner_text(".toast.bad")


def test_an_agent_offers_thinking_only_where_the_model_can(visit: Visit, gateway: Gateway) -> None:
    """R040, R041, R043, R044: a checkbox for models that think, and the reason for those that do not."""
    page = visit.open()
    page.get_by_role("button", name="Agents").click()
    page.get_by_role("button", name="New agent").click()
    box, model = page.get_by_label("Enable thinking"), page.get_by_label("Model", exact=True)
    assert box.is_visible()
    model.fill("gpt-4o")
    assert box.is_hidden()
    assert "gpt-4o does not think" in page.inner_text("[role=note]")
    model.fill("claude-opus-4.5")
    assert box.is_visible()
    page.get_by_label("How hard to think").select_option("budget")
    page.get_by_label("Thinking budget, in tokens").fill("4096")
    box.uncheck()
    assert page.get_by_label("Thinking budget, in tokens").is_hidden()
    box.check()
    page.get_by_label("Name").fill("Reader")
    page.get_by_label("Instructions").fill("Read slowly.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Edit Reader").click()
    assert page.get_by_label("Thinking budget, in tokens").input_value() == "4096"
    model.fill("builtin/solver")
    page.get_by_label("How hard to think").select_option("high")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Use Reader").click()
    (agent,) = [one for one in gateway.call("/api/agents")["items"] if one["name"] == "Reader"]
    assert (agent["model"], agent["thinking"], agent["level"], agent["budget_tokens"]) == (
        "builtin/solver",
        True,
        "high",
        None,
    )
    assert agent["system"] == "Read slowly."
    ask(page, PUZZLE)
    finished(page)
    (turn,) = gateway.call(f"/api/sessions/{page.url.partition('#')[2]}")["turns"]
    assert turn["agent"] == agent["id"]


def test_the_picker_says_what_each_models_thinking_can_do(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("button", name="Who answers: Built-in solver").click()
    page.wait_for_selector(".option")
    page.keyboard.type("opus-4.5")
    option = page.get_by_role("button", name="claude-opus-4.5")
    assert "Can think" in option.inner_text()
    assert "token budget" in option.inner_text()
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Who answers: claude-opus-4.5").is_visible()
    assert page.get_by_label("Thinking", exact=True).locator("option").all_inner_texts()[:2] == [
        "Thinking: auto",
        "Thinking: off",
    ]
    ask(page, "hello")
    page.wait_for_selector(".toast.bad")
    assert "ANTHROPIC_API_KEY" in page.inner_text(".toast.bad"), (
        "R046: what is missing is said, and nothing else is tried"
    )
    assert page.input_value("#message") == "hello"


def test_copying_leaves_thinking_out_unless_it_is_asked_for(visit: Visit, gateway: Gateway) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    session = gateway.keep("Copy", ("one", THOUGHT, "A *fern*."))
    page = visit.open(session)
    finished(page)
    page.get_by_role("button", name="Copy answer").click()
    assert page.evaluate("() => navigator.clipboard.readText()") == "A *fern*."
    page.get_by_role("button", name="Copy with thinking").click()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("<details><summary>Thinking · ")
    assert "marigold" in copied
    assert copied.endswith("A *fern*.")


def test_tokens_are_told_where_they_were_counted(visit: Visit, gateway: Gateway) -> None:
    session = gateway.keep("Counted", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    finished(page)
    assert gaps(page.inner_text(".facts")).startswith("trial · 1,200 tokens in · 345 out · 210 thinking")


def test_what_it_cost_is_told_where_the_gateway_knows(visit: Visit, gateway: Gateway) -> None:
    session = gateway.keep("Priced", ("one", THOUGHT, "A fern."))
    page = visit.open()
    cost = {"turn": {"usd": "0.01234"}, "priced_by": "a list"}

    def priced(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "cost": cost})

    page.route(re.compile(r"/api/turns/trn_[^/]*$"), priced)
    page.evaluate("id => { location.hash = id; }", session)
    expect(page.locator(".facts")).to_contain_text("0.0123 USD")


def test_answer_now_is_asked_for_and_its_refusal_told(visit: Visit) -> None:
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.method)
        error = {"code": "conflict", "message": "This model cannot be hurried. Stop it, or wait."}
        route.fulfill(status=409, json={"error": error})

    page = visit.open()
    page.route("**/answer-now", refuse)
    ask(page, PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    page.locator(".composer").get_by_role("button", name="Answer now").click()
    page.wait_for_selector("text=This model cannot be hurried")
    assert asked == ["POST"]
    finished(page)


def test_the_gateways_own_agents_can_be_chosen(visit: Visit) -> None:
    about = {"description": "Plans.", "model": "builtin/solver", "uses": [], "assistants": []}
    own = [{"id": "planner", "name": "Planner", **about}]
    sent: list[Any] = []
    page = visit.open()
    page.route("**/api/agents?*", lambda route: route.fulfill(json={"items": [], "next": "", "own": own}))

    def taken(route: Route) -> None:
        if route.request.method == "POST":
            sent.append(route.request.post_data_json)
        route.fulfill(status=422, json={"error": {"code": "unprocessable", "message": "Not here."}})

    page.route("**/api/sessions", taken)
    page.get_by_role("button", name="Who answers: Built-in solver").click()
    page.get_by_role("button", name="Planner Plans.").click()
    ask(page, PUZZLE)
    page.wait_for_selector("text=Not here.")
    assert sent == [{"agent": "planner", "model": ""}]


def test_a_call_that_waits_for_approval_is_asked_about(visit: Visit, gateway: Gateway) -> None:
    """The page asks as soon as the log says so, and sends the decision for the right block."""
    session = gateway.keep("Approvals", ("one", "", "Done."))
    turn = gateway.call(f"/api/sessions/{session}")["turns"][0]
    decisions: list[dict[str, Any]] = []
    entries = [
        {"type": "turn.started", "dialect": "", "model": "trial"},
        {"type": "block.started", "block": 0, "kind": "tool_call", "name": "send_mail"},
        {"type": "block.grew", "block": 0, "text": '{"to": "ana"}'},
        {"type": "block.ended", "block": 0},
        {"type": "approval.asked", "block": 0},
    ]
    stream = "".join(
        f"id: {n}\ndata: {json.dumps({'seq': n, 'at_ms': 1000 + n, 'event': event})}\n\n"
        for n, event in enumerate(entries)
    )
    page = visit.context.new_page()
    page.route(
        "**/api/turns/*/events*",
        lambda route: (
            route.fulfill(body=stream, content_type="text/event-stream")
            if "after" not in route.request.url
            else None
        ),
    )
    page.route(
        "**/messages?*",
        lambda route: route.fulfill(json={"items": [{**_asked(turn["id"]), "state": "running"}], "next": ""}),
    )

    def settle(route: Any) -> None:
        decisions.append(route.request.post_data_json)
        route.fulfill(status=202, json=turn)

    page.route("**/approvals", settle)
    page.goto(f"{gateway.url}/#{session}")
    page.wait_for_selector(".approval")
    assert "send_mail wants to run" in page.inner_text(".approval")
    assert '"to": "ana"' in page.inner_text(".approval pre")
    page.get_by_role("button", name="Allow").click()
    page.wait_for_timeout(200)
    assert decisions == [{"block": 0, "granted": True}]


def _asked(turn: str) -> dict[str, Any]:
    said = {
        "turn": turn,
        "state": "running",
        "role": "user",
        "content": "one",
        "thinking": None,
        "failed": False,
    }
    empty = dict.fromkeys(("call_id", "name", "model", "provider", "summary"), "")
    lists: dict[str, list[Any]] = {"images": [], "notices": [], "parts": []}
    return {**said, **empty, **lists, "outcome": None, "usage": {}, "stamps": {}}


def test_renaming_and_deleting(visit: Visit, gateway: Gateway) -> None:
    session = gateway.keep("Old name", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    finished(page)
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("New name")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("New name")
    expect(page.locator(".sessions [aria-current]")).to_have_text("New name")
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_selector(".welcome")
    assert session not in [one["id"] for one in gateway.call("/api/sessions")["items"]]


def test_a_conversation_that_is_gone_is_said_to_be_gone(visit: Visit) -> None:
    page = visit.open("ses_AAAAAAAAAAAAAAAAAAAAAA")
    page.wait_for_selector("text=This conversation is not there any more")


def test_the_whole_page_by_keyboard_alone(visit: Visit) -> None:
    """R133: from the first visit to an opened thought and on, without a pointer."""
    page = visit.open()
    page.wait_for_selector(".puzzle")
    page.locator("body > :first-child").focus()
    assert page.evaluate("() => document.activeElement.className") == "skip", (
        "the way past the list is not the first stop"
    )
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "message"
    page.keyboard.type(PUZZLE)
    page.keyboard.press("Enter")
    finished(page)
    seen: list[str] = []
    focused = """() => {
      let one = document.activeElement;
      while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
      return one.ariaLabel || one.textContent.trim() || one.id || one.localName;
    }"""
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        seen.append(page.evaluate(focused))
        if seen[-1].startswith("Thought for"):
            break
    else:
        pytest.fail(f"the thought cannot be reached by keyboard: {seen}")
    page.keyboard.press("Enter")
    assert _open(page)
    page.keyboard.press("Space")
    assert not _open(page)
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog.search")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.keyboard.press("Alt+n")
    page.wait_for_selector(".welcome")


def test_narrow_windows_have_the_list_behind_a_button(browser: Browser, gateway: Gateway) -> None:
    gateway.keep("Pocket", ("one", THOUGHT, "A fern."))
    with visiting(browser, gateway.url, viewport={"width": 360, "height": 740}) as visit:
        page = visit.open()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        assert page.locator(".side").get_by_role("link", name="Pocket").count() == 0
        opener = page.get_by_role("button", name="Conversations and settings")
        assert opener.get_attribute("aria-expanded") == "false"
        opener.click()
        page.get_by_role("link", name="Pocket").first.click()
        finished(page)
        page.wait_for_function("() => document.querySelector('.side').inert")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        opener.click()
        page.keyboard.press("Escape")
        assert page.evaluate("() => document.activeElement.ariaLabel") == "Conversations and settings"


def test_a_gateway_that_wants_a_token_is_asked_for_one(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path, "--auth", "token") as gateway, visiting(browser, gateway.url) as visit:
        page = visit.open()
        page.wait_for_selector("text=This gateway asks for a token")
        token = next(word for word in gateway.told.read_text().split() if word.startswith("tka_"))
        page.get_by_label("Token", exact=True).fill(token)
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog", state="detached")
        page.click(".puzzle >> nth=0")
        finished(page)
        assert page.text_content(".answer") == ANSWER
