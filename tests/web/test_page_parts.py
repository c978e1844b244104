"""What the chat page is made of: search, settings, agents, replay, files, keys; with a real gateway."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.web.chat_page import (
    PUZZLE,
    QUICK_QUESTION,
    WEB,
    GatewayProcess,
    PageVisit,
    ask,
    gateway_at,
    normalized_space,
    open_visit,
    thinking_text,
    wait_for_answers,
)

THOUGHT = "First the marigold, then the fern.\n\nThe marigold wants sun.\n\nSo the fern it is."


@pytest.fixture
def visit(browser: Browser, gateway: GatewayProcess) -> Iterator[PageVisit]:
    gateway.call("/api/preferences", {}, "PUT")
    with open_visit(browser, gateway.url) as opened:
        yield opened


def _open(page: Page, nth: int = 0) -> bool:
    return bool(page.evaluate("nth => document.querySelectorAll('thinking-block')[nth].open", nth))


LATE_ENTER = """node => node.dispatchEvent(new KeyboardEvent("keydown",
  {key: "Enter", keyCode: 229, bubbles: true, cancelable: true}))"""


def test_the_enter_that_ends_a_composition_does_nothing_else(visit: PageVisit) -> None:
    """In Safari it comes after the end of the composition, and only its old code tells."""
    page = visit.open()
    page.fill("#message", "にほん")
    page.locator("#message").evaluate(LATE_ENTER)
    page.locator(".composer .chip").first.click()
    page.locator("dialog .option").first.wait_for()
    page.locator("dialog [type=search]").evaluate(LATE_ENTER)
    expect(page.locator("dialog .option").first).to_be_visible()
    expect(page.locator("#message")).to_have_value("にほん")
    expect(page.locator(".exchange")).to_have_count(0)


def test_escape_in_an_empty_search_field_closes_its_dialog(visit: PageVisit) -> None:
    """In Safari the field keeps the key to itself, so a key that the browser does nothing about must do."""
    page = visit.open()
    page.keyboard.press("Control+k")
    field = page.locator("dialog [type=search]")
    escape = LATE_ENTER.replace("Enter", "Escape").replace("229", "27")
    field.fill("fern")
    field.evaluate(escape)
    expect(field).to_be_visible()
    field.fill("")
    field.evaluate(escape)
    expect(field).to_have_count(0)


def test_search_over_thoughts_opens_the_block_at_the_hit(visit: PageVisit, gateway: GatewayProcess) -> None:
    """R138: thoughts are found, and only where they are asked for."""
    gateway.import_exchanges("A shady corner", ("what grows here", THOUGHT, "A fern grows there."))
    page = visit.open()
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog.search")
    page.keyboard.type("marigold")
    page.wait_for_selector("text=Nothing has these words")
    page.check("input[value=thoughts]")
    page.locator(".hit").first.wait_for()
    expect(page.locator(".hit")).to_have_count(1)
    assert page.locator(".hit mark").first.inner_text() == "marigold"
    page.locator(".hit").click()
    page.wait_for_selector("thinking-block")
    page.wait_for_function("() => document.querySelector('thinking-block').open")
    expect(page.locator("dialog")).to_have_count(0)
    assert "/0" in page.url


def test_find_in_thinking_counts_hits_and_wraps_around(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges(
        "Finding", ("one", THOUGHT, "A fern."), ("two", "Again the fern.", "Still a fern.")
    )
    page = visit.open(session)
    wait_for_answers(page, 2)
    page.get_by_role("button", name="Find in thinking").click()
    page.wait_for_selector(".finder")
    page.keyboard.type("fern")
    page.wait_for_selector("text=1 of 3")
    assert _open(page)
    assert page.evaluate("() => CSS.highlights.size") == 1
    for count_text in ("2 of 3", "3 of 3", "1 of 3"):
        page.keyboard.press("Enter")
        page.wait_for_selector(f"text={count_text}")
    assert _open(page, 1)
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("text=3 of 3")
    page.keyboard.press("Escape")
    expect(page.locator(".finder")).to_have_count(0)
    assert page.evaluate("() => CSS.highlights.size") == 0


def test_a_replay_has_a_slider_and_a_speed(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open(
        gateway.import_exchanges("Played", ("what grows here", THOUGHT * 3, "A fern grows there."))
    )
    wait_for_answers(page)
    whole = thinking_text(page)
    page.get_by_role("button", name="Replay").click()
    slider = page.get_by_role("slider", name="Moment")
    slider.wait_for()
    page.get_by_role("button", name="Pause").click()
    slider.evaluate("one => { one.value = one.max / 2; one.dispatchEvent(new Event('input')); }")
    half = thinking_text(page)
    assert 0 < len(half) < len(whole)
    assert whole.startswith(half)
    assert page.text_content(".answer") == ""
    slider.evaluate("one => { one.value = 0; one.dispatchEvent(new Event('input')); }")
    assert len(thinking_text(page)) < len(half)
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".answer")).to_have_text("A fern grows there.")
    assert thinking_text(page) == whole
    page.get_by_role("button", name="End replay").click()
    expect(page.locator(".replay")).to_have_count(0)
    assert page.text_content(".answer") == "A fern grows there."


def test_export_and_import_round_trip(visit: PageVisit, gateway: GatewayProcess, tmp_path: Path) -> None:
    """R137: with thinking when it is wanted, without when nothing is said."""
    session = gateway.import_exchanges("Round trip", ("what grows here", THOUGHT, "A *fern* grows there."))
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
    markdown = exported("Include thinking")
    assert "marigold" in Path(markdown).read_text()
    whole = exported("JSON")
    assert json.loads(Path(whole).read_text())["title"] == "Round trip"
    for file in (markdown, whole):
        exchange_id = page.get_attribute(".exchange", "id")
        choose_import(page, file)
        page.wait_for_selector("text=Imported: Round trip")
        page.wait_for_function(
            "id => (document.querySelector('.exchange')?.id ?? id) !== id", arg=exchange_id
        )
        wait_for_answers(page)
        assert thinking_text(page) == THOUGHT
        assert page.text_content(".answer") == "A fern grows there."
        page.get_by_role("button", name="Dismiss").last.click()


def choose_import(page: Page, file: Path | str) -> None:
    """Import a file by the button of the list."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import").click()
    chooser.value.set_files(file)


def test_import_of_an_unknown_file_is_refused_in_plain_words(visit: PageVisit, tmp_path: Path) -> None:
    page = visit.open()
    (tmp_path / "other.json").write_text('{"hello": 1}')
    choose_import(page, tmp_path / "other.json")
    page.wait_for_selector(".toast.bad")
    assert "no part of the file looks like a conversation" in page.inner_text(".toast.bad")


def test_an_agent_offers_thinking_only_where_the_model_can(visit: PageVisit, gateway: GatewayProcess) -> None:
    """R040, R041, R043, R044: a checkbox for models that think, and the reason for those that do not."""
    page = visit.open()
    page.get_by_role("button", name="Agents").click()
    page.get_by_role("button", name="New agent").click()
    box, model = page.get_by_label("Enable thinking"), page.get_by_label("Model", exact=True)
    expect(box).to_be_visible()
    model.fill("gpt-4o")
    expect(box).to_be_hidden()
    assert "gpt-4o does not think" in page.inner_text("[role=note]")
    model.fill("claude-opus-4.5")
    expect(box).to_be_visible()
    page.get_by_label("How hard to think").select_option("budget")
    page.get_by_label("Thinking budget, in tokens").fill("4096")
    box.uncheck()
    expect(page.get_by_label("Thinking budget, in tokens")).to_be_hidden()
    box.check()
    page.get_by_label("Name").fill("Reader")
    page.get_by_label("Instructions").fill("Read slowly.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Edit Reader").click()
    expect(page.get_by_label("Thinking budget, in tokens")).to_have_value("4096")
    model.fill("builtin/solver")
    page.get_by_label("How hard to think").select_option("high")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Use Reader").click()
    (agent,) = [item for item in gateway.call("/api/agents")["items"] if item["name"] == "Reader"]
    assert (agent["model"], agent["thinking"], agent["level"], agent["budget_tokens"]) == (
        "builtin/solver",
        True,
        "high",
        None,
    )
    assert agent["system"] == "Read slowly."
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    (turn,) = gateway.call(f"/api/sessions/{page.url.partition('#')[2]}")["turns"]
    assert turn["agent"] == agent["id"]


def test_the_picker_says_what_each_models_thinking_can_do(visit: PageVisit) -> None:
    page = visit.open()
    page.get_by_role("button", name="Who answers: Built-in solver").click()
    page.wait_for_selector(".option")
    page.keyboard.type("opus-4.5")
    option = page.get_by_role("button", name="claude-opus-4.5")
    assert "Can think" in option.inner_text()
    assert "token budget" in option.inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Who answers: claude-opus-4.5")).to_be_visible()
    assert page.get_by_label("Thinking", exact=True).locator("option").all_inner_texts()[:2] == [
        "Thinking: auto",
        "Thinking: off",
    ]
    ask(page, "hello")
    page.wait_for_selector(".error-card")
    assert "ANTHROPIC_API_KEY" in page.inner_text(".error-card"), (
        "R046: what is missing is said, and nothing else is tried"
    )
    assert page.input_value("#message") == "hello"


def test_copying_leaves_thinking_out_unless_it_is_asked_for(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    session = gateway.import_exchanges("Copy", ("one", THOUGHT, "A *fern*."))
    page = visit.open(session)
    wait_for_answers(page)
    page.get_by_role("button", name="Copy answer").click()
    assert page.evaluate("() => navigator.clipboard.readText()") == "A *fern*."
    page.get_by_role("button", name="Copy with thinking").click()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("<details><summary>Thinking · ")
    assert "marigold" in copied
    assert copied.endswith("A *fern*.")


def test_token_counts_are_shown_if_known(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Counted", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    wait_for_answers(page)
    assert normalized_space(page.inner_text(".facts")).startswith(
        "trial · 1,200 tokens in · 345 out · 210 thinking"
    )


def test_refused_answer_now_is_shown(visit: PageVisit) -> None:
    requests: list[str] = []

    def refuse(route: Route) -> None:
        requests.append(route.request.method)
        error = {"code": "conflict", "message": "This model cannot be hurried. Stop it, or wait."}
        route.fulfill(status=409, json={"error": error})

    page = visit.open()
    page.route("**/answer-now", refuse)
    ask(page, PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    page.locator(".composer").get_by_role("button", name="Answer now").click()
    page.wait_for_selector("text=This model cannot be hurried")
    assert requests == ["POST"]


def test_every_word_that_is_said_is_in_the_tables() -> None:
    """A key that no table has would be shown as it is."""
    sources = {path.name: path.read_text("utf-8") for path in (WEB / "page").glob("*.ts")}
    tables = [sources[name] for name in ("words.ts", "dialog-words.ts", "figures.ts", "welcome.ts")]
    keys = [key for table in tables for key in re.findall(r'^  "([^"]+)": \[".+?", ".+"\],$', table, re.M)]
    assert len(set(keys)) == len(keys) > 200, "a key is there twice"
    used_keys = {key for source in sources.values() for key in re.findall(r'\bt\("([^"]+)"', source)}
    assert used_keys - {*keys} == set()


def test_renaming_and_deleting(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Old name", ("one", THOUGHT, "A fern."))
    page = visit.open(session)
    wait_for_answers(page)
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("New name")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("New name")
    expect(page.locator(".sessions [aria-current]")).to_have_text("New name")
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Delete").click()
    page.wait_for_selector(".welcome")
    with page.expect_response(lambda answer: answer.request.method == "DELETE"):
        pass  # after the time in which it can be undone
    assert session not in [item["id"] for item in gateway.call("/api/sessions")["items"]]


def test_deleted_conversation_shows_an_error(visit: PageVisit) -> None:
    page = visit.open("ses_AAAAAAAAAAAAAAAAAAAAAA")
    page.wait_for_selector("text=This conversation is not there any more")


def test_the_whole_page_by_keyboard_alone(visit: PageVisit) -> None:
    """R133: from the first visit to an opened thought and on, without a pointer."""
    page = visit.open()
    page.wait_for_selector(".puzzle")
    page.locator("body > :first-child").focus()
    assert page.evaluate("() => document.activeElement.className") == "skip", (
        "the way past the list is not the first stop"
    )
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "message"
    page.keyboard.type(QUICK_QUESTION)
    page.keyboard.press("Enter")
    wait_for_answers(page)
    focused_names: list[str] = []
    focused = """() => {
      let one = document.activeElement;
      while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
      return one.ariaLabel || one.textContent.trim() || one.id || one.localName;
    }"""
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        focused_names.append(page.evaluate(focused))
        if focused_names[-1].startswith("Thought for"):
            break
    else:
        pytest.fail(f"the thought cannot be reached by keyboard: {focused_names}")
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


def test_the_list_is_one_tab_stop_and_keeps_the_focus(visit: PageVisit, gateway: GatewayProcess) -> None:
    first = gateway.import_exchanges("Stop 0", ("one", "", "1"))
    for number in range(1, 30):
        gateway.import_exchanges(f"Stop {number}", ("one", "", "1"))
    page = visit.open(first)
    wait_for_answers(page)
    focused = "() => document.activeElement.ariaLabel || document.activeElement.textContent"
    page.locator("body > :first-child").focus()
    names: list[str] = []
    while "Message" not in names and len(names) < 40:
        page.keyboard.press("Tab")
        names.append(page.evaluate(focused))
    assert names[0] == "Skip to the conversation"
    assert [name for name in names if name.startswith("Stop")] == ["Stop 0"]
    assert "Message" in names, "the message box is not far"

    link = page.get_by_role("link", name="Stop 0", exact=True)
    link.focus()
    page.keyboard.press("Home")
    assert page.evaluate(focused) == "Stop 29"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "Actions: Stop 28"
    page.evaluate("() => { window.__focused = document.activeElement; }")
    other = gateway.import_exchanges("Newcomer", ("one", "", "1"))
    gateway.call(f"/api/sessions/{other}", {"title": "Renamed"}, "PATCH")
    page.get_by_role("link", name="Renamed").wait_for()
    assert page.evaluate("() => document.activeElement === window.__focused"), (
        "a change elsewhere took the focus"
    )
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_be_focused()  # where whoever opens a conversation is taken
    page.locator("body > :nth-child(2)").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.className") == "scroll"


def test_narrow_windows_have_the_list_behind_a_button(browser: Browser, gateway: GatewayProcess) -> None:
    gateway.import_exchanges("Pocket", ("one", THOUGHT, "A fern."))
    with open_visit(browser, gateway.url, viewport={"width": 360, "height": 740}) as visit:
        page = visit.open()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        assert page.locator(".side").get_by_role("link", name="Pocket").count() == 0
        opener = page.get_by_role("button", name="Conversations and settings")
        expect(opener).to_have_attribute("aria-expanded", "false")
        opener.click()
        page.get_by_role("link", name="Pocket").first.click()
        wait_for_answers(page)
        page.wait_for_function("() => document.querySelector('.side').inert")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        opener.click()
        item = page.locator(".sessions li", has_text="Pocket").first
        item.hover()
        item.get_by_role("button").click()
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Undo").click()  # above the list, which covers the page
        page.locator(".title", has_text="Pocket").wait_for()
        opener.click()
        page.keyboard.press("Escape")
        assert page.evaluate("() => document.activeElement.ariaLabel") == "Conversations and settings"


def test_a_gateway_that_wants_a_token_is_asked_for_one(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path, "--auth", "token") as gateway, open_visit(browser, gateway.url) as visit:
        page = visit.open()
        page.wait_for_selector("text=This gateway asks for a token")
        token = gateway.token
        page.get_by_label("Token", exact=True).fill(token)
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog", state="detached")
        ask(page, QUICK_QUESTION)
        wait_for_answers(page)
        assert "51" in (page.text_content(".answer") or "")
