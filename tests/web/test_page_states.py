"""What the page says while it waits, when something goes wrong, and where a search leads."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.web.chat_page import (
    QUICK_QUESTION,
    GatewayProcess,
    PageVisit,
    ask,
    block_events,
    open_visit,
    wait_for_answers,
)
from tests.web.element_states import TWO_FRAMES
from tests.web.test_page_races import DelayedRequests

from thinkaloud.agents.reply import failure_of
from thinkaloud.client.errors import ErrorResponse, refusal_error

CUT = [
    *block_events(0, "reasoning", "Two lines."),
    {"type": "block.started", "block": 1, "kind": "text"},
    {"type": "block.grew", "block": 1, "text": "The first line, and"},
    {"type": "block.ended", "block": 1, "interrupted": True},
]
ENDS = {
    "cut off": [*CUT, {"type": "turn.ended", "finish": "length"}],
    "failed": [
        *block_events(0, "reasoning", "Hm."),
        {"type": "turn.failed", "code": "overloaded", "message": "Busy.\u202e"},
    ],
    "no key": [{"type": "turn.failed", "code": "invalid_api_key", "message": "The key is wrong."}],
    "stopped": [*CUT, {"type": "turn.ended", "finish": "cancelled"}],
}
CARD = """() => {
  const card = document.querySelector(".error-card");
  const answer = document.querySelector(".answer");
  return {
    cards: document.querySelectorAll(".error-card").length, text: card.querySelector("p").textContent,
    buttons: [...card.querySelectorAll("button")].map(one => one.textContent),
    icon: !!card.querySelector("svg"),
    below: answer.hidden || answer.getBoundingClientRect().bottom <= card.getBoundingClientRect().top,
    inBlock: document.querySelector("thinking-block").shadowRoot
      .querySelector("[part=notice]").checkVisibility(),
    mild: card.classList.contains("mild"),
  };
}"""


def stored_turn(gateway: GatewayProcess, page: Page, title: str, events: list[dict[str, Any]]) -> None:
    session = gateway.import_events(title, events)
    page.goto(f"{gateway.url}/#{session}")
    page.reload()
    page.wait_for_selector(".error-card")


def test_every_end_without_an_answer_has_one_card_below_the_text(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """An icon, one sentence and the button that helps, where the text breaks off."""
    page = visit.open()
    cards = {}
    for name, events in ENDS.items():
        stored_turn(gateway, page, name, events)
        cards[name] = card = page.evaluate(CARD)
        assert (card["cards"], card["icon"], card["below"], card["inBlock"]) == (1, True, True, False), (
            name,
            card,
        )
    assert {name: (card["buttons"], card["mild"]) for name, card in cards.items()} == {
        "cut off": (["Resume"], True),
        "failed": (["Try again"], False),
        "no key": (["Choose who answers"], False),
        "stopped": (["Try again"], True),
    }
    assert cards["cut off"]["text"] == "The length limit cut the answer off."
    assert "Busy.U+202E" in cards["failed"]["text"], "no direction is changed unseen"


def test_a_refused_question_has_a_card_and_another_try(visit: PageVisit) -> None:
    """It is said once, to a screen reader too; the question is in the message box until it gets through."""
    page = visit.open()
    error = {"error": {"code": "unavailable", "message": "The gateway is stopping. Run `thinkaloud serve`."}}
    page.route("**/turns", lambda route: route.fulfill(status=500, json=error))
    ask(page, QUICK_QUESTION)
    card = page.locator(".error-card")
    expect(card).to_contain_text("The gateway is stopping.")
    expect(card.locator("code")).to_have_text("thinkaloud serve")
    expect(page.locator("[role=status]", has_text="The gateway is stopping.")).to_have_count(1)
    assert page.locator(".toast").count() == 0
    assert page.input_value("#message") == QUICK_QUESTION
    page.unroute_all()
    card.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".answer >> text=51")
    expect(page.locator(".error-card")).to_have_count(0)
    assert page.input_value("#message") == ""


def test_errors_of_the_gateway_are_in_the_readers_language(browser: Browser, gateway: GatewayProcess) -> None:
    """A refusal, a toast and a failed turn in Portuguese; what a provider said stays as it is."""
    with open_visit(browser, gateway.url, locale="pt-BR") as visit:
        page = visit.open()
        page.locator(".answerer").click()
        page.fill("dialog [type=search]", "anthropic/claude-opus-4.5")
        page.keyboard.press("Enter")
        ask(page, QUICK_QUESTION)
        expect(page.locator(".error-card")).to_have_text(
            "Nenhuma chave de API encontrada para anthropic. Defina ANTHROPIC_API_KEY ou ai.claude.api_token "
            "em credentials.toml (modo 600), execute thinkaloud keys set anthropic ou use outro provedor, "
            "como openrouter/anthropic/claude-opus-4.5. Nada foi enviado.Escolha quem responde"
        )
        status = page.locator("[role=status]", has_text="Nenhuma chave de API encontrada")
        expect(status).to_have_count(1)

        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Importar").click()
        chooser.value.set_files({"name": "a.md", "mimeType": "text/markdown", "buffer": b"Hello"})
        expect(page.locator(".toast")).to_contain_text("Este markdown não é uma sessão do Thinkaloud:")

        error = refusal_error("acme", ErrorResponse(503, message="Nothing today."))
        event: dict[str, Any] = msgspec.to_builtins(failure_of(error))
        stored_turn(gateway, page, "failed", [event])
        expect(page.locator(".error-card p")).to_have_text(
            "A resposta falhou: acme recusou a solicitação (HTTP 503): Nothing today. "
            "Esta é uma falha do provedor: tente mais tarde, ou use outro provedor."
        )


def test_toasts_leave_and_cover_no_answer(visit: PageVisit) -> None:
    page = visit.open()
    page.clock.install()
    page.keyboard.press("Alt+t")
    toast = page.locator(".toast")
    toast.wait_for()
    boxes = page.evaluate(
        """() => [".toast", ".scroll", ".composer"].map(one =>
          document.querySelector(one).getBoundingClientRect().toJSON())"""
    )
    assert boxes[1]["bottom"] <= boxes[0]["top"]
    assert boxes[0]["bottom"] <= boxes[2]["top"] + 1
    page.clock.run_for(20_000)
    expect(toast).to_have_count(0)


def answer_by_nobody(page: Page, model: str) -> None:
    """Have a turn started that says nothing."""
    turn = {"id": "trn_quiet", "session": "ses_1", "state": "running", "agent": "", "model": model}
    page.route("**/turns", lambda route: route.fulfill(json=turn))
    page.route("**/api/turns/trn_quiet/events*", lambda route: None)


def test_the_way_to_the_latest_covers_little_of_an_answer(visit: PageVisit, gateway: GatewayProcess) -> None:
    """A round button at the end of the lines, not a label over the middle of them."""
    session = gateway.import_exchanges("Long", ("Which?", "", "A line of it.\n\n" * 60))
    page = visit.open(session)
    wait_for_answers(page)
    page.evaluate("() => { document.querySelector('.scroll').scrollTop = 0; }")
    button = page.get_by_role("button", name="Latest")
    button.wait_for()
    box, answer = button.bounding_box(), page.locator(".answer").bounding_box()
    assert box
    assert answer
    assert box["width"] == box["height"]
    assert box["x"] > answer["x"] + answer["width"] * 0.9
    button.click()
    page.wait_for_function(
        "() => { const {scrollTop, scrollHeight, clientHeight} = document.querySelector('.scroll');"
        " return scrollHeight - scrollTop - clientHeight < 2; }"
    )


@pytest.mark.parametrize(("model", "thinks"), [("gpt-4o", False), ("claude-opus-4.5", True)])
def test_waiting_seconds_are_counted_until_the_first_text(visit: PageVisit, model: str, thinks: bool) -> None:
    """A model that does not think has no thinking block; after 20 s it is said that the wait goes on."""
    page = visit.open()
    page.locator(".composer .chip").first.click()
    page.locator("dialog .option").first.wait_for()
    page.keyboard.type(model)
    page.keyboard.press("Enter")
    answer_by_nobody(page, model)
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # a busy machine would count a second more
    ask(page, "hello")
    page.wait_for_selector(".exchange[aria-busy]")
    page.clock.run_for(3500)
    block = page.locator("thinking-block [part=root]")
    if thinks:
        expect(block).to_contain_text("Waiting…")
        expect(page.locator("thinking-block [part=timer]")).to_have_text("3s")
    else:
        expect(block).to_be_hidden()
        expect(page.locator(".link-state")).to_have_text("Waiting… 3s")
    expect(page.get_by_role("button", name="Answer now")).to_be_visible(visible=thinks)
    page.set_viewport_size({"width": 320, "height": 600})
    name = page.locator(".answerer span")
    assert name.evaluate("node => Math.min(node.clientWidth, node.scrollWidth)") > 40, (
        "a name, and not a letter of it"
    )
    page.clock.run_for(20_000)
    expect(page.locator(".link-state")).to_contain_text("Still waiting")
    page.clock.run_for(10_000)
    expect(page.locator(".link-state")).to_contain_text("Still waiting")


def events_of_a_thought(route: Route) -> None:
    """A thought begins, and the connection breaks."""
    events: list[dict[str, Any]] = [
        {"type": "turn.started", "model": "solver"},
        {"type": "block.started", "block": 0, "kind": "reasoning"},
        {"type": "block.grew", "block": 0, "text": "Let me see."},
    ]
    send_events(route, events)


def send_events(route: Route, events: list[dict[str, Any]]) -> None:
    """Send these events once, and nothing to those who come back."""
    frames = [
        f"data: {json.dumps({'seq': seq, 'at_ms': 1_790_000_000_000, 'event': event})}\n\n"
        for seq, event in enumerate(events)
    ]
    if "after=" in route.request.url:
        route.abort()
    else:
        route.fulfill(body="".join(frames), headers={"Content-Type": "text/event-stream"})


def test_a_call_cannot_turn_its_arguments_around_unseen(visit: PageVisit) -> None:
    """Who approves a call sees the marks that change the direction of its name and arguments."""
    events: list[dict[str, Any]] = [
        {"type": "turn.started", "model": "solver"},
        {"type": "block.started", "block": 0, "kind": "tool_call", "name": "open\u202e"},
        {
            "type": "block.grew",
            "block": 0,
            "text": json.dumps({"path\u2066": "gpj.\u202eexe", "deep": ["\u202e"]}),
        },
        {"type": "block.ended", "block": 0},
        {"type": "approval.asked", "block": 0},
    ]
    page = visit.open()
    answer_by_nobody(page, "solver")
    page.route("**/api/turns/trn_quiet/events*", lambda route: send_events(route, events))
    page.clock.install()  # so that the end of the stream is not yet a lost connection
    ask(page, "hello")
    page.wait_for_selector(".exchange[aria-busy]")
    card = page.locator(".approval")
    for _ in range(1000):
        page.clock.run_for(20)
        if card.count():
            break
    assert card.locator(".bidi").all_inner_texts() == ["U+202E", "U+2066", "U+202E", "U+202E"]
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", card.inner_text())


def test_a_lost_connection_does_not_go_on_pulsing(visit: PageVisit) -> None:
    page = visit.open()
    answer_by_nobody(page, "solver")
    page.route("**/api/turns/trn_quiet/events*", events_of_a_thought)
    ask(page, "hello")
    expect(page.locator("thinking-block[status=disconnected] [part=label]")).to_have_text("Connection lost")
    assert page.locator("thinking-block .dot").count() == 0
    expect(page.locator(".error-card")).to_have_count(1)
    expect(page.locator(".error-card").get_by_role("button", name="Resume")).to_be_visible()


def test_a_search_hit_opens_at_its_words(visit: PageVisit, gateway: GatewayProcess) -> None:
    """R139: thoughts are searched where somebody asks for it. Next and previous lead from place to place."""
    gateway.import_exchanges(
        "Ferns",
        ("Which fern?", "The **quiet** bracken grows here.\n\n" * 30, "The `bracken` wins. Yes, bracken."),
    )
    page = visit.open()
    page.keyboard.press("Control+k")
    page.fill("dialog [type=search]", "bracken")
    page.locator("dialog .hit").first.wait_for()
    assert page.locator("dialog .hit .kind").all_inner_texts() == ["Answer"]
    assert "`" not in page.inner_text("dialog .hit-text")
    page.locator("dialog .hit").first.click()
    expect(page.locator(".finder .count")).to_contain_text("of 32")
    marked = "() => [...CSS.highlights.get('found-thought') ?? []].map(one => one.toString())"
    page.wait_for_function(f"() => ({marked})().length === 1")
    assert page.evaluate(marked) == ["bracken"]
    in_answer = """() => {
      const [range] = CSS.highlights.get("found-thought");
      return document.querySelector(".answer").contains(range.startContainer);
    }"""
    assert page.evaluate(in_answer)
    page.get_by_role("button", name="Previous").click()
    page.wait_for_function(f"() => !({in_answer})()")
    assert page.evaluate("() => document.querySelector('thinking-block').open")

    page.keyboard.press("Control+k")
    page.get_by_label("Thoughts").check()
    page.fill("dialog [type=search]", "quiet bracken")
    hit = page.locator("dialog .hit", has=page.locator(".kind.thought"))
    hit.wait_for()
    assert "**" not in hit.inner_text()
    hit.click()
    expect(page.locator(".finder .count")).to_contain_text("1 of 30")
    page.wait_for_function(f"() => ({marked})().includes('quiet bracken')")


def test_a_search_hit_opens_at_the_query_in_its_order(visit: PageVisit, gateway: GatewayProcess) -> None:
    options = [f"- Take **option {n}** or leave it, for nobody minds." for n in range(60)]
    options[52] = "- Whoever takes **option 52** should do so with care."
    gateway.import_exchanges("Options", ("Which?", "", "\n".join(options)))
    marked = "() => [...CSS.highlights.get('found-thought') ?? []].map(one => one.toString())"
    item = """() => {
      const [range] = CSS.highlights.get("found-thought");
      return range.startContainer.parentElement.closest("li").textContent;
    }"""
    page = visit.open()
    for query, words, place in (
        ("option 47", ["option 47"], "Take option 47 or"),
        ("care 52", ["52"], "takes option 52 should"),
    ):
        page.keyboard.press("Control+k")
        page.fill("dialog [type=search]", query)
        hit = page.locator("dialog .hit", has_text=place)
        hit.wait_for()
        hit.click()
        page.wait_for_function(f"words => JSON.stringify(({marked})()) === words", arg=json.dumps(words))
        assert page.input_value(".finder input") == query
        assert place in page.evaluate(item)
        page.get_by_role("button", name="Close").click()


def test_a_search_hit_is_read_without_marks_of_markdown(visit: PageVisit, gateway: GatewayProcess) -> None:
    """A snippet is one line, in whose middle a heading or a table may stand; the words found stay marked."""
    table = "In it.\n\n## Two\n\n| fern | height |\n|---|--:|\n| *sporangium* | 12 |\n"
    gateway.import_exchanges("Table", ("Which?", "", table))
    gateway.import_exchanges("Shell", ("How?", "", "Run `sporangium | sort | uniq`, #1 of 2."))
    page = visit.open()
    page.keyboard.press("Control+k")
    page.fill("dialog [type=search]", "sporangium")
    page.locator("dialog .hit").nth(1).wait_for()
    assert sorted(page.locator("dialog .hit-text").all_inner_texts()) == [
        "In it. Two fern height sporangium 12",
        "Run sporangium | sort | uniq, #1 of 2.",
    ]
    assert page.locator("dialog .hit-text mark").all_inner_texts() == ["sporangium", "sporangium"]


def test_the_picker_takes_any_model_and_says_what_is_missing(visit: PageVisit) -> None:
    page = visit.open()
    page.locator(".composer .chip").first.click()
    page.locator("dialog .option").first.wait_for()
    groups = page.locator("dialog .rows h3").all_inner_texts()
    assert "Server does not answer" in groups, "local servers are asked, not assumed"
    page.keyboard.type("opus-4.5")
    expect(page.locator("dialog .option").first).to_contain_text("no key for anthropic")
    page.fill("dialog [type=search]", "openrouter/some/new-model:free")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Who answers: openrouter/some/new-model:free")).to_be_visible()


def test_language_is_the_browsers_until_somebody_chooses(browser: Browser, gateway: GatewayProcess) -> None:
    """A visit with one language decides nothing for another browser."""
    gateway.call("/api/preferences", {}, "PUT")
    for locale, lang in (("pt-BR", "pt-BR"), ("en-US", "en-US"), ("pt-PT", "pt-BR")):
        with open_visit(browser, gateway.url, locale=locale) as visit:
            page = visit.open()
            page.wait_for_load_state("networkidle")
            assert page.evaluate("() => document.documentElement.lang") == lang
    assert gateway.call("/api/preferences")["language"] == "en-US"


def test_an_agent_without_a_name_is_no_id(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Old", ("one", "", "1"))
    page = visit.open()
    body = {
        "id": session,
        "title": "Old",
        "agent": "agt_unknown",
        "model": "",
        "created_ms": 0,
        "updated_ms": 0,
    }
    page.route(f"**/api/sessions/{session}?limit=1", lambda route: route.fulfill(json=body))
    page.goto(f"{gateway.url}/#{session}")
    expect(page.get_by_role("button", name="Who answers: Agent")).to_be_visible()
    assert "agt_" not in page.inner_text("body")


@pytest.mark.parametrize("size", [(1366, 600), (390, 660), (320, 600), (1280, 800)], ids=str)
def test_the_welcome_page_begins_at_its_top(
    browser: Browser, gateway: GatewayProcess, size: tuple[int, int]
) -> None:
    with open_visit(browser, gateway.url, viewport={"width": size[0], "height": size[1]}) as visit:
        page = visit.open()
        page.wait_for_load_state("networkidle")
        logo = page.locator(".welcome .logo").bounding_box()
        bar = page.locator(".bar").bounding_box()
        assert logo is not None
        assert bar is not None
        assert logo["y"] >= bar["y"] + bar["height"]
        assert page.evaluate("() => document.querySelector('.scroll').scrollTop") == 0


def test_a_title_is_renamed_in_its_place(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Old name", ("one", "", "1"))
    page = visit.open(session)
    page.wait_for_selector(".answer >> text=1")
    page.locator("h1").dblclick()
    page.get_by_label("Title").fill("New name")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("New name")
    expect(page.locator("nav a", has_text="New name")).to_be_visible()
    page.locator("h1").dblclick()
    page.get_by_label("Title").fill("Another")
    page.keyboard.press("Escape")
    expect(page.locator("h1")).to_have_text("New name")
    assert gateway.call(f"/api/sessions/{session}")["title"] == "New name"


def test_a_question_can_be_edited_and_its_versions_compared(visit: PageVisit) -> None:
    """What was there before is kept: ‹ 1/2 › leads back to it, and both stand side by side."""
    page = visit.open()
    for count, question in enumerate(("how much is 2 * 3", "how much is 4 * 5"), 1):
        ask(page, question)
        wait_for_answers(page, count)
    page.locator(".asked").first.hover()
    page.get_by_role("button", name="Edit the question").first.click()
    page.get_by_role("textbox", name="Edit the question").fill(QUICK_QUESTION)
    page.get_by_role("button", name="Send").first.click()
    expect(page.locator(".exchange")).to_have_count(1)
    expect(page.locator(".answer")).to_have_text(re.compile("51"))
    wait_for_answers(page)
    expect(page.locator(".versions")).to_have_text("2/2")
    page.get_by_role("button", name="Previous version").click()
    expect(page.locator(".exchange")).to_have_count(2)
    expect(page.locator(".versions")).to_have_text("1/2")
    expect(page.locator(".answer")).to_have_text([re.compile("= 6"), re.compile("= 20")])
    page.get_by_role("button", name="Compare versions").click()
    columns = page.locator("dialog .columns > section")
    expect(columns).to_have_count(2)
    expect(columns.nth(0)).to_contain_text("= 6")
    expect(columns.nth(1)).to_contain_text("51")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next version").click()
    expect(page.locator(".versions")).to_have_text("2/2")


def test_an_edited_question_hides_nothing_of_its_answer(visit: PageVisit) -> None:
    """The buttons below the field stand above the thinking block, and cover no part of it."""
    page = visit.open()
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    page.hover(".asked")
    page.get_by_role("button", name="Edit").click()
    page.wait_for_selector(".edit textarea")
    foot, block = (page.locator(one).bounding_box() for one in (".edit .dialog-foot", "thinking-block"))
    assert foot
    assert block
    assert foot["y"] + foot["height"] <= block["y"]


def test_words_of_a_menu_stand_in_one_line(browser: Browser, gateway: GatewayProcess) -> None:
    """Portuguese needs more room than English, and there is room."""
    session = gateway.import_exchanges("Ferns", ("Which?", "", "Bracken."))
    with open_visit(browser, gateway.url, locale="pt-BR") as visit:
        page = visit.open(session)
        wait_for_answers(page)
        page.get_by_role("button", name="Ações desta conversa").click()
        items = page.locator("#actions .menu-item:visible span")
        items.first.wait_for()
        heights = items.evaluate_all("all => all.map(one => one.getClientRects().length && one.offsetHeight)")
        assert len(set(heights)) == 1


def test_ask_again_makes_another_version(visit: PageVisit, gateway: GatewayProcess) -> None:
    events = [*block_events(0, "text", "50, I think"), {"type": "turn.ended", "finish": "stop"}]
    session = gateway.import_events(QUICK_QUESTION, events, model="solver")
    page = visit.open(session)
    wait_for_answers(page)
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".answer")).to_have_text(re.compile("51"))
    expect(page.locator(".exchange")).to_have_count(1)
    assert len(gateway.call(f"/api/sessions/{session}/messages")["items"][-1]["versions"]) == 2


def test_long_answer_keeps_its_question_at_the_top(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Earlier", *((f"question {n}", "", "word " * 300) for n in range(4)))
    page = visit.open(session)
    wait_for_answers(page, 4)
    answer = "\n\n".join(f"Paragraph {n} of a long answer." for n in range(80))
    events = [
        {"type": "turn.started", "model": "trial"},
        {"type": "block.started", "block": 0, "kind": "text"},
        {"type": "block.grew", "block": 0, "text": answer},
        {"type": "block.ended", "block": 0},
        {"type": "turn.ended", "finish": "stop"},
    ]
    lines = [
        f"data: {json.dumps({'seq': seq, 'at_ms': 0, 'event': event})}\n\n"
        for seq, event in enumerate(events)
    ]
    body = "".join(lines) + 'event: end\ndata: {"state": "done"}\n\n'
    turn = {"id": "trn_long", "session": session, "state": "running", "agent": "", "model": "trial"}
    page.route("**/turns", lambda route: route.fulfill(json=turn))
    stream = {"body": body, "headers": {"Content-Type": "text/event-stream"}}
    page.route("**/api/turns/trn_long/events*", lambda route: route.fulfill(**stream))
    ask(page, "tell me more")
    page.get_by_text("Paragraph 79 of").wait_for()
    wait_for_answers(page, 5)
    distance = """() => {
      const bubble = [...document.querySelectorAll(".bubble")].at(-1).getBoundingClientRect();
      return bubble.top - document.querySelector(".scroll").getBoundingClientRect().top;
    }"""
    page.wait_for_function(f"() => ({distance})() >= 0 && ({distance})() < 40")
    expect(page.get_by_role("button", name="Latest")).to_be_visible()


def test_reader_who_scrolls_in_a_long_live_answer_stays_there(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = gateway.import_exchanges("Earlier", ("question", "", "word " * 300))
    page = visit.open(session)
    wait_for_answers(page)
    texts = ["".join(f"Paragraph {n} of {part}.\n\n" for n in range(80)) for part in ("one", "two")]
    events: list[dict[str, Any]] = [
        {"type": "turn.started", "model": "trial"},
        {"type": "block.started", "block": 0, "kind": "text"},
        *({"type": "block.grew", "block": 0, "text": text} for text in texts),
    ]
    frames = [
        f"data: {json.dumps({'seq': seq, 'at_ms': 0, 'event': event})}\n\n"
        for seq, event in enumerate(events)
    ]
    turn = {"id": "trn_live", "session": session, "state": "running", "agent": "", "model": "trial"}
    page.route("**/turns", lambda route: route.fulfill(json=turn))
    returning: list[Route] = []

    def stream(route: Route) -> None:
        if "after=" in route.request.url:
            returning.append(route)
        else:
            route.fulfill(body="".join(frames[:3]), content_type="text/event-stream")

    page.route("**/api/turns/trn_live/events*", stream)
    with page.expect_request("**/api/turns/trn_live/events?after=2"):
        ask(page, "tell me more")
        page.get_by_text("Paragraph 79 of one").wait_for()
    top = "() => document.querySelector('.scroll').scrollTop"
    before = page.evaluate(top)
    page.mouse.move(600, 300)
    page.mouse.wheel(0, 300)
    page.wait_for_function(f"() => ({top})() >= {before} + 300")
    returning[0].fulfill(body=frames[3], content_type="text/event-stream")
    page.get_by_text("Paragraph 79 of two").wait_for()
    page.evaluate(TWO_FRAMES)
    assert page.evaluate(top) == before + 300


def test_function_names_in_mathematics_keep_their_spaces(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges(
        "Maths", ("How fast?", "", r"It takes \(O(n \log n)\), and \(\sin(x)\).")
    )
    page = visit.open(session)
    wait_for_answers(page)
    texts = """() => [...document.querySelectorAll(".math mrow")].map(
      (node) => node.textContent.replace(/\u2061/g, ""))"""
    page.wait_for_function(f"() => ({texts})().length === 2")
    assert page.evaluate(texts) == ["O(n\u2009log\u2009n)", "sin(x)"]


def test_suggestions_of_the_built_in_model_are_buttons(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    ask(page, "tell me about the train to Lyon")
    suggestion = page.locator(".suggestions").get_by_role("button")
    expect(suggestion).to_have_count(3)
    delayed = DelayedRequests(page, "**/api/models")
    page.reload()
    wait_for_answers(page)
    delayed.wait()
    delayed.release()
    expect(suggestion).to_have_count(3)
    expect(suggestion.first).to_have_text("A train travels 180 km in 2 hours. What is its speed?")
    suggestion.first.dblclick()
    wait_for_answers(page, 2)
    expect(page.locator(".answer").last).to_contain_text("The speed is 90 kilometers per hour.")
    expect(page.locator(".exchange")).to_have_count(2)


def test_welcome_says_which_keys_are_set(browser: Browser, gateway: GatewayProcess) -> None:
    models = gateway.call("/api/models")
    for provider in models["providers"]:
        provider["has_key"] = provider["name"] == "anthropic"
    for language, sentence in (
        ("en-US", "The gateway has a key for anthropic."),
        ("pt-BR", "O gateway tem uma chave para anthropic."),
    ):
        with open_visit(browser, gateway.url, locale=language) as visit:
            visit.context.route("**/api/models", lambda route: route.fulfill(json=models))
            page = visit.open()
            expect(page.locator(".connect")).to_contain_text(sentence)
