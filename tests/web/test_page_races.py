"""The chat page on a bad day: a slow network, hasty hands, two windows, and a browser that keeps nothing."""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.patience import PATIENCE_S
from tests.web.chat_page import (
    PUZZLE,
    QUICK_QUESTION,
    SLOW_PUZZLE,
    GatewayProcess,
    PageVisit,
    ask,
    gateway_at,
    open_visit,
    wait_for_answers,
)
from tests.web.element_states import TWO_FRAMES

FORBIDDEN = """
for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, {get() { throw new DOMException("no", "SecurityError"); }});
"""
FULL = 'Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };'


class DelayedRequests:
    """Requests that are on their way until they are let go."""

    def __init__(self, page: Page, url_pattern: str, method: str = "GET") -> None:
        self.routes: list[Route] = []
        self.delaying = True
        self._page = page
        self._method = method
        page.route(url_pattern, self._delay)

    def _delay(self, route: Route) -> None:
        if self.delaying and route.request.method == self._method:
            self.routes.append(route)
        else:
            route.fallback()

    def wait(self, count: int = 1) -> None:
        """Until so many are on their way."""
        wait_for(self._page, lambda: len(self.routes) >= count)

    def release(self) -> None:
        """Let them go, until all are answered and the page has seen it."""
        self.delaying = False
        for route in self.routes:
            route.continue_()
        for route in self.routes:
            self.finish(route)

    def finish(self, route: Route) -> None:
        """Wait until one that was let go is answered and the page has seen it."""
        if response := route.request.response():
            response.finished()
        self._page.evaluate("() => new Promise(done => requestAnimationFrame(done))")


def wait_for(page: Page, so: Callable[[], bool]) -> None:
    """Let the browser work until something is so."""
    until = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < until, "it did not come to be so"
        page.wait_for_timeout(25)


def over(gateway: GatewayProcess, turn: str) -> bool:
    """Whether a turn has come to its end."""
    return bool(gateway.call(f"/api/turns/{turn}")["state"] == "done")


def keep_session(gateway: GatewayProcess, title: str, *texts: tuple[str, str, str]) -> str:
    """A session in which the solver answers what is asked next."""
    session = gateway.import_exchanges(title, *texts)
    gateway.call(f"/api/sessions/{session}", {"model": ""}, "PATCH")
    return session


def stir(page: Page, session: str) -> None:
    """Tell the page, as another window does, that there is something new."""
    page.evaluate("id => new BroadcastChannel('thinkaloud').postMessage({session: id})", session)


def exchanges(page: Page, count: int) -> None:
    page.wait_for_function(
        "count => document.querySelectorAll('.exchange:not(.sending)').length === count", arg=count
    )


@pytest.mark.parametrize("broken", [FORBIDDEN, FULL], ids=["forbidden", "full"])
def test_a_browser_that_keeps_nothing_still_shows_everything(
    browser: Browser, gateway: GatewayProcess, broken: str
) -> None:
    with open_visit(browser, gateway.url) as visit:
        visit.context.add_init_script(broken)
        page = visit.open()
        ask(page, QUICK_QUESTION)
        wait_for_answers(page)
        page.keyboard.press("Alt+N")
        page.wait_for_selector(".welcome")


def test_a_token_holds_for_the_visit_where_nothing_can_be_kept(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path, "--auth", "token") as gateway, open_visit(browser, gateway.url) as visit:
        visit.context.add_init_script(FULL)
        token = gateway.token
        page = visit.open()
        page.fill("dialog input", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog", state="detached")
        ask(page, QUICK_QUESTION)
        wait_for_answers(page)


def test_invalid_token_is_asked_for_again(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path, "--auth", "token") as gateway, open_visit(browser, gateway.url) as visit:
        token = gateway.token
        page = visit.open()
        page.fill("dialog input", "“smart” quotes")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog >> text=is not known")
        page.fill("dialog input", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog", state="detached")
        ask(page, QUICK_QUESTION)
        wait_for_answers(page)


def test_draft_typed_while_a_question_is_sent_stays(visit: PageVisit) -> None:
    page = visit.open()
    delayed = DelayedRequests(page, "**/turns", "POST")
    ask(page, QUICK_QUESTION)
    delayed.wait()
    page.fill("#message", "and the next")
    delayed.release()
    wait_for_answers(page)
    assert page.input_value("#message") == "and the next"
    page.keyboard.press("Alt+N")
    page.wait_for_selector(".welcome")
    assert page.input_value("#message") == ""


def test_failed_question_returns_to_the_message_box_before_the_draft(visit: PageVisit) -> None:
    page = visit.open()
    delayed = DelayedRequests(page, "**/turns", "POST")
    ask(page, "the first")
    delayed.wait()
    page.fill("#message", "the second")
    for route in delayed.routes:
        route.fulfill(status=500)
    page.wait_for_selector(".error-card")
    assert page.input_value("#message") == "the first\n\nthe second"


def test_a_question_that_fails_is_given_back_where_it_was_asked(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    first_session = keep_session(gateway, "Here", ("one", "", "1"))
    second_session = keep_session(gateway, "There", ("two", "", "2"))
    page = visit.open(first_session)
    exchanges(page, 1)
    delayed = DelayedRequests(page, "**/turns", "POST")
    ask(page, "only here")
    delayed.wait()
    page.click(f"a[href='#{second_session}']")
    page.wait_for_selector(".answer >> text=2")
    for route in delayed.routes:
        route.fulfill(status=500)
    page.wait_for_selector(".toast.bad")
    assert page.input_value("#message") == ""
    page.click(f"a[href='#{first_session}']")
    page.wait_for_selector(".answer >> text=1")
    assert page.input_value("#message") == "only here"


def test_question_on_its_way_is_not_shown_in_another_conversation(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """The reader leaves before the page shows that it is being sent."""
    first_session = keep_session(gateway, "Here", ("one", "", "1"))
    second_session = keep_session(gateway, "There", ("two", "", "2"))
    page = visit.open(first_session)
    exchanges(page, 1)
    delayed = DelayedRequests(page, "**/turns", "POST")
    page.fill("#message", "only here")
    page.evaluate(
        """async id => {
          document.querySelector(".composer").requestSubmit();
          await new Promise(resolve => setTimeout(resolve));
          location.hash = id;
        }""",
        second_session,
    )
    page.wait_for_selector(".answer >> text=2")
    delayed.wait()
    page.evaluate("() => new Promise(resolve => setTimeout(resolve, 300))")  # after the timer of the page
    expect(page.locator(".sending")).to_have_count(0)
    delayed.release()


def test_question_sent_while_a_conversation_loads_is_asked_in_it(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = keep_session(gateway, "Slow to come", ("one", "", "1"))
    page = visit.open()
    delayed = DelayedRequests(page, f"**/{session}/messages*")
    page.click(f"a[href='#{session}']")
    delayed.wait()
    ask(page, QUICK_QUESTION)
    delayed.release()
    exchanges(page, 2)
    wait_for_answers(page, 2)
    assert page.url.endswith(session)
    assert len(gateway.call(f"/api/sessions/{session}/messages")["items"]) == 4


def test_draft_typed_while_a_conversation_loads_stays(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = keep_session(gateway, "Slow to come", ("one", "", "1"))
    page = visit.open()
    page.fill("#message", "for a new one")
    delayed = DelayedRequests(page, f"**/{session}/messages*")
    page.click(f"a[href='#{session}']")
    delayed.wait()
    assert page.input_value("#message") == ""
    page.fill("#message", "for this one")
    delayed.release()
    page.wait_for_selector(".answer >> text=1")
    assert page.input_value("#message") == "for this one"
    page.keyboard.press("Alt+N")
    page.wait_for_selector(".welcome")
    assert page.input_value("#message") == "for a new one"


def test_a_late_try_for_a_conversation_that_was_left_changes_nothing(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    first_session = keep_session(gateway, "Left", ("left", "", "the answer of the one that was left"))
    second_session = keep_session(gateway, "Wanted", ("wanted", "", "the answer of the one that is wanted"))
    page = visit.open()
    tries: list[Route] = []

    def fail(route: Route) -> None:
        tries.append(route)
        route.abort()

    page.route(f"**/{first_session}/messages*", fail)
    page.clock.install()
    page.click(f"a[href='#{first_session}']")
    wait_for(page, lambda: bool(tries))
    page.click(f"a[href='#{second_session}']")
    page.wait_for_selector(".answer >> text=is wanted")
    tries_before = len(tries)  # the clock goes on, so a slow machine has tried more than once
    page.clock.run_for(20_000)
    assert page.locator(".answer").all_inner_texts() == ["the answer of the one that is wanted"]
    assert len(tries) == tries_before


def test_conversation_that_failed_to_load_opens_with_a_second_click(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = keep_session(gateway, "Slow to come", ("one", "", "the answer"))
    page = visit.open()
    away = DelayedRequests(page, f"**/{session}/messages*")
    page.clock.install()
    page.click(f"a[href='#{session}']")
    for at in range(5):
        while len(away.routes) <= at:
            page.clock.run_for(500)
            page.wait_for_timeout(10)
        away.routes[at].abort()
    page.wait_for_selector(".status-line >> text=does not answer")
    away.delaying = False
    page.click(f"a[href='#{session}']")
    page.wait_for_selector(".answer >> text=the answer")


def test_late_rename_response_does_not_change_the_open_conversation(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    first_session = keep_session(gateway, "Here", ("one", "", "1"))
    second_session = keep_session(gateway, "There", ("two", "", "2"))
    page = visit.open(first_session)
    page.wait_for_selector(".answer >> text=1")
    delayed = DelayedRequests(page, f"**/{first_session}", "PATCH")
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("Another name")
    page.keyboard.press("Enter")
    delayed.wait()
    page.click(f"a[href='#{second_session}']")
    page.wait_for_selector(".answer >> text=2")
    with page.expect_response("**/api/sessions?pinned=false&limit=40"):
        delayed.release()
    page.wait_for_selector(".sessions a >> text=Another name")
    assert page.inner_text("h1") == "There"
    ask(page, QUICK_QUESTION)
    wait_for_answers(page, 2)
    assert len(gateway.call(f"/api/sessions/{first_session}/messages")["items"]) == 2


def test_two_clicks_for_later_messages_show_each_question_once(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    question_answers = [(f"question {n}", "", f"answer {n}") for n in range(30)]
    session = keep_session(gateway, "Long", *question_answers)
    turn = gateway.call(f"/api/sessions/{session}/messages?limit=2")["items"][0]["turn"]
    page = visit.open(f"{session}/{turn}")
    page.wait_for_selector(".answer >> text=answer 0")
    delayed = DelayedRequests(page, "**/messages*after=*")
    later = page.get_by_role("button", name="Show later messages")
    later.dblclick()
    delayed.wait()
    delayed.release()
    page.wait_for_selector(".bubble >> text=question 12")
    questions = page.locator(".bubble p").all_text_contents()
    assert len(questions) == len(set(questions))


def test_earlier_messages_load_while_the_page_changes(visit: PageVisit, gateway: GatewayProcess) -> None:
    question_answers = [(f"question {n}", "", f"answer {n}") for n in range(30)]
    session = keep_session(gateway, "Long", *question_answers)
    page = visit.open()
    delayed = DelayedRequests(page, "**/messages*after=*")
    page.click(f"a[href='#{session}']")
    page.wait_for_selector(".answer >> text=answer 29")
    page.wait_for_selector("h1 >> text=Long")  # the session comes after its messages, and places the reader
    page.evaluate("() => document.querySelector('.scroll').scrollTop = 0")
    delayed.wait()
    gateway.call(f"/api/sessions/{session}", {"title": "Long, and renamed"}, "PATCH")
    stir(page, session)
    page.wait_for_selector("h1 >> text=renamed")
    delayed.release()
    page.wait_for_selector(".bubble >> text=question 5", state="attached")


def test_earlier_messages_load_where_the_messages_came_before_their_session(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """The button for earlier messages comes into sight once only."""
    question_answers = [(f"question {n}", "", f"answer {n}") for n in range(30)]
    session = keep_session(gateway, "Long", *question_answers)
    page = visit.open()
    delayed = DelayedRequests(page, f"**/api/sessions/{session}?*")
    page.click(f"a[href='#{session}']")
    delayed.wait()
    page.wait_for_selector(".answer >> text=answer 29")
    page.evaluate(TWO_FRAMES)
    delayed.release()
    page.wait_for_selector(".bubble >> text=question 5", state="attached")


def test_turns_made_while_the_page_was_away_have_no_gap(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = keep_session(gateway, "Busy", ("the first", "", "1"))
    page = visit.open(session)
    page.wait_for_selector(".answer >> text=1")
    for n in range(6):
        turn = gateway.call(f"/api/sessions/{session}/turns", {"prompt": f"how much is {n} + 1"})["id"]
        wait_for(page, partial(over, gateway, turn))
    stir(page, session)
    page.wait_for_selector(".bubble >> text=5 + 1")
    questions = page.locator(".bubble p").all_text_contents()
    assert questions == ["the first", *(f"how much is {n} + 1" for n in range(6))]


def test_a_question_is_shown_once_when_the_list_knew_of_it_first(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = keep_session(gateway, "Here", ("one", "", "1"))
    page = visit.open(session)
    page.wait_for_selector(".answer >> text=1")
    delayed = DelayedRequests(page, "**/turns", "POST")
    ask(page, QUICK_QUESTION)
    delayed.wait()
    response = delayed.routes[0].fetch()  # it got through, and the answer is on its way
    stir(page, session)
    exchanges(page, 2)
    delayed.routes[0].fulfill(response=response)
    page.wait_for_selector(".sending", state="detached")
    wait_for_answers(page, 2)
    assert page.locator(".bubble p").all_text_contents() == ["one", QUICK_QUESTION]


def test_a_conversation_deleted_elsewhere_while_it_streams(visit: PageVisit, gateway: GatewayProcess) -> None:
    page, second_page = visit.open(), visit.open()
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    page.locator("#message").fill("Not sent yet")
    second_page.evaluate("id => { location.hash = id; }", page.url.partition("#")[2])
    second_page.wait_for_selector("thinking-block[status=streaming]")
    second_page.get_by_role("button", name="Actions for this conversation").click()
    second_page.get_by_role("button", name="Delete").click()
    second_page.wait_for_selector(".welcome")
    page.wait_for_selector(".status-line >> text=not there any more")
    assert page.locator(".status-line").evaluate("node => node.checkVisibility()")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(page.locator(".exchange[aria-busy]")).to_have_count(0)
    expect(page.locator("#message")).to_have_value("Not sent yet")
    page.locator(".status-line").get_by_role("button", name="New conversation").click()
    page.wait_for_selector(".welcome")
    expect(page.locator("#message")).to_have_value("Not sent yet")


@pytest.mark.parametrize("why", ["refused", "something is on its way"])
def test_edited_question_stays_in_its_field_until_it_is_asked(
    visit: PageVisit, gateway: GatewayProcess, why: str
) -> None:
    page = visit.open(keep_session(gateway, "Here", ("one", "", "1")))
    page.get_by_role("button", name="Edit the question").click()
    field = page.locator(".edit textarea")
    field.fill(QUICK_QUESTION)
    delayed = DelayedRequests(page, "**/turns", "POST")
    if why == "refused":
        field.press("Enter")
        delayed.wait()
        delayed.routes[0].fulfill(status=400, json={"error": {"code": "invalid", "message": "Not today."}})
        page.wait_for_selector(".error-card >> text=Not today.")
        delayed.delaying = False
    else:
        ask(page, PUZZLE)
        delayed.wait()
        field.press("Enter")
        delayed.release()
        wait_for_answers(page, 2)
    expect(field).to_have_value(QUICK_QUESTION)
    field.press("Enter")
    page.wait_for_selector(".versions >> text=2/2")
    expect(field).to_have_count(0)


def test_question_on_its_way_is_in_the_message_box_after_a_reload(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open(keep_session(gateway, "Here", ("one", "", "1")))
    exchanges(page, 1)
    delayed = DelayedRequests(page, "**/turns", "POST")
    ask(page, QUICK_QUESTION)
    delayed.wait()
    page.reload()
    exchanges(page, 1)
    expect(page.locator("#message")).to_have_value(QUICK_QUESTION)


def test_asking_again_twice_asks_once(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = keep_session(gateway, "Here", (PUZZLE, "", "1"))
    page = visit.open(session)
    page.wait_for_selector(".answer >> text=1")
    delayed = DelayedRequests(page, "**/turns", "POST")
    page.get_by_role("button", name="Ask again").dblclick()
    delayed.wait()
    delayed.release()
    page.wait_for_selector(".versions >> text=2/2")
    assert page.locator(".toast.bad, .error-card").count() == 0
    assert len(gateway.call(f"/api/sessions/{session}/messages")["items"][-1]["versions"]) == 2


def test_a_puzzle_clicked_twice_is_asked_once_and_leaves_no_draft(visit: PageVisit) -> None:
    page = visit.open()
    delayed = DelayedRequests(page, "**/turns", "POST")
    page.dblclick(".puzzle >> nth=0")
    delayed.wait()
    delayed.release()
    wait_for_answers(page)
    assert page.locator(".exchange").count() == 1
    assert page.input_value("#message") == ""
    page.keyboard.press("Alt+N")
    page.wait_for_selector(".welcome")
    assert page.input_value("#message") == ""


def test_toast_is_visible_after_a_dialog_closes(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Export").click()
    with page.expect_download():
        page.get_by_role("button", name="Download").click()
    page.wait_for_selector("dialog", state="detached")
    page.wait_for_selector(".toast >> text=was left out")


@pytest.mark.parametrize("name", ["Settings", "Agents"])
def test_two_clicks_open_one_dialog(visit: PageVisit, name: str) -> None:
    page = visit.open()
    delayed = DelayedRequests(page, "**/api/workspaces" if name == "Settings" else "**/api/agents*")
    page.get_by_role("button", name=name).click(click_count=2)
    delayed.wait(2)
    delayed.release()
    page.wait_for_selector("dialog")
    assert page.locator("dialog").count() == 1
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.evaluate("() => document.activeElement.textContent") == name


@pytest.mark.parametrize("how", ["{isComposing: true}", "{keyCode: 229}"], ids=["composing", "safari"])
def test_enter_that_chooses_a_character_sends_nothing(
    visit: PageVisit, gateway: GatewayProcess, how: str
) -> None:
    """One browser says so of the event, another one only by its number."""
    keep_session(gateway, "Japanese", ("日本", "", "東京"))
    page = visit.open()
    event_init = f"{{key: 'Enter', bubbles: true, cancelable: true, ...{how}}}"
    enter = f"field => field.dispatchEvent(new KeyboardEvent('keydown', {event_init}))"
    page.fill("#message", "にほん")
    page.locator("#message").evaluate(enter)
    assert page.input_value("#message") == "にほん"
    page.keyboard.press("Control+K")
    page.fill("dialog input[type=search]", "日本")
    page.wait_for_selector(".hit")
    page.locator("dialog input[type=search]").evaluate(enter)
    assert page.locator("dialog").count() == 1


def test_finding_begins_anew_in_another_conversation(visit: PageVisit, gateway: GatewayProcess) -> None:
    first_session = keep_session(gateway, "Here", ("one", "a needle and a needle", "1"))
    second_session = keep_session(gateway, "There", ("two", "no such thing", "2"))
    page = visit.open(first_session)
    page.wait_for_selector(".answer >> text=1")
    page.get_by_role("button", name="Find in thinking").click()
    page.fill(".finder input", "needle")
    page.wait_for_selector(".finder >> text=1 of 2")
    page.click(f"a[href='#{second_session}']")
    page.wait_for_selector(".answer >> text=2")
    expect(page.locator(".finder >> text=of 2")).to_have_count(0)


def test_search_hit_marks_the_searched_words(visit: PageVisit, gateway: GatewayProcess) -> None:
    """Also after letters that are longer when they are small, and where one place runs into the next."""
    session = keep_session(gateway, "Here", ("one", "İİİİ then (x*[y) and haha haha.", "1"))
    page = visit.open(session)
    page.wait_for_selector(".answer >> text=1")
    page.get_by_role("button", name="Find in thinking").click()
    marked = "() => [...(CSS.highlights.get('found-thought') ?? [])].map(String).join()"
    page.fill(".finder input", "(X*[")
    page.wait_for_function(f"() => ({marked})() === '(x*['")
    page.fill(".finder input", "haha")
    page.wait_for_selector(".finder >> text=1 of 2")
    start = "() => [...CSS.highlights.get('found-thought')][0].startOffset"
    page.wait_for_function(f"() => ({marked})() === 'haha'")
    start_before = page.evaluate(start)
    page.keyboard.press("Enter")
    page.wait_for_selector(".finder >> text=2 of 2")
    page.wait_for_function(f"before => ({start})() === before + 5", arg=start_before)


def test_closing_a_replay_gives_the_focus_back(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = keep_session(gateway, "Here", ("one", "a thought", "1"))
    page = visit.open(session)
    page.get_by_role("button", name="Replay").click()
    page.get_by_role("button", name="End replay").click()
    assert page.evaluate("() => document.activeElement.title") == "Replay"


def test_stopping_twice_is_no_mistake(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    page.get_by_role("button", name="Stop", exact=True).dblclick()
    wait_for_answers(page)
    assert page.locator(".toast.bad").count() == 0


def test_answer_now_twice_is_no_mistake(visit: PageVisit) -> None:
    page = visit.open()
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    delayed = DelayedRequests(page, "**/answer-now", "POST")
    page.locator(".composer").get_by_role("button", name="Answer now").dblclick()
    delayed.wait()
    wait_for_answers(page)
    assert len(delayed.routes) == 1


def test_refusal_stays_when_the_conversation_is_loaded_after_it(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = keep_session(gateway, "Slow", ("text", "1", "done"))
    page = visit.open()
    messages = DelayedRequests(page, "**/messages?*")
    refusal = {"error": {"code": "invalid", "message": "Not today."}}
    page.route("**/turns", lambda route: route.fulfill(status=400, json=refusal))
    page.evaluate("id => { location.hash = id; }", session)
    messages.wait()
    with page.expect_response("**/turns"):
        ask(page, QUICK_QUESTION)
    messages.release()
    page.locator(".exchange").wait_for()
    page.get_by_role("button", name="Try again").wait_for()
    expect(page.locator("#message")).to_have_value(QUICK_QUESTION)


def test_a_question_from_two_windows_is_refused_in_plain_words(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = keep_session(gateway, "Here", ("one", "", "1"))
    page = visit.open(session)
    page.wait_for_selector(".answer >> text=1")
    refusal = {"code": "turn_running", "message": "Turn trn_1 of session ses_1 is still running."}
    page.route("**/turns", lambda route: route.fulfill(status=409, json={"error": refusal}))
    ask(page, QUICK_QUESTION)
    page.wait_for_selector(".error-card")
    assert "An answer is still on its way" in page.inner_text(".error-card")
    assert "ses_" not in page.inner_text(".error-card")
    assert page.input_value("#message") == QUICK_QUESTION


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Ação, já!", "ação-já.md"),
        ("日本語 / 東京", "日本語-東京.md"),
        ("../../etc", "etc.md"),
        ("😀", "session.md"),
    ],
)
def test_a_file_is_called_as_the_conversation_in_any_language(
    visit: PageVisit, gateway: GatewayProcess, title: str, name: str
) -> None:
    page = visit.open(keep_session(gateway, title, ("one", "", "1")))
    page.wait_for_selector(".answer >> text=1")
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == name


def test_two_settings_in_a_row_are_both_kept(visit: PageVisit, gateway: GatewayProcess) -> None:
    preferences_before = gateway.call("/api/preferences")
    page = visit.open()
    page.get_by_role("button", name="Settings").click()
    page.wait_for_selector("dialog")
    delayed = DelayedRequests(page, "**/api/preferences", "PUT")
    page.locator("[data-key=rest] select").select_option("expanded")
    page.locator("[data-key=live] select").select_option("expanded")
    delayed.wait(2)
    delayed.release()
    gateway.call("/api/preferences", preferences_before, "PUT")
    sent = [json.loads(route.request.post_data or "")["display"] for route in delayed.routes]
    assert [
        (sent_settings["after_complete"], sent_settings["while_streaming"]) for sent_settings in sent
    ] == [
        ("expanded", preferences_before["display"]["while_streaming"]),
        ("expanded", "expanded"),
    ]


def test_a_change_made_while_the_preferences_load_stays(visit: PageVisit, gateway: GatewayProcess) -> None:
    """What the gateway had before the change comes after it, and is older."""
    preferences_before = gateway.call("/api/preferences")
    page = visit.open()
    delayed = DelayedRequests(page, "**/api/preferences")
    page.reload()
    delayed.wait()
    older = delayed.routes[0].fetch()
    with page.expect_response(lambda response: response.request.method == "PUT"):
        page.keyboard.press("Alt+t")
    page.wait_for_selector(".toast >> text=Thinking blocks: hidden")
    delayed.routes[0].fulfill(response=older)
    delayed.finish(delayed.routes[0])
    page.keyboard.press("Alt+t")
    page.wait_for_selector(".toast >> text=Thinking blocks: shown")
    gateway.call("/api/preferences", preferences_before, "PUT")


def test_deleting_is_not_one_enter_away(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open(keep_session(gateway, "Here", ("one", "", "1")))
    page.wait_for_selector(".answer >> text=1")
    page.get_by_role("button", name="Actions for this conversation").click()
    page.wait_for_selector("#actions")
    page.wait_for_function("() => document.activeElement.textContent === 'Rename'")
    page.keyboard.press("Enter")
    page.get_by_label("Title").wait_for()
    assert page.locator(".answer").count() == 1


def test_arrow_keys_move_through_search_hits(visit: PageVisit, gateway: GatewayProcess) -> None:
    keep_session(gateway, "Ferns", ("bracken one", "", "1"), ("bracken two", "", "2"))
    page = visit.open()
    page.keyboard.press("Control+K")
    page.fill("dialog input[type=search]", "bracken")
    page.wait_for_selector(".hit >> nth=1")
    place = "() => [...document.querySelectorAll('.hit')].indexOf(document.activeElement)"
    places = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
        places.append(page.evaluate(place))
    assert places == [0, 1, 0, -1]
    assert page.evaluate("() => document.activeElement.type") == "search"


def test_keys_of_the_browser_are_left_to_it_in_the_list(visit: PageVisit, gateway: GatewayProcess) -> None:
    keep_session(gateway, "Older", ("one", "", "1"))
    keep_session(gateway, "Newer", ("two", "", "2"))
    page = visit.open()
    links = page.locator(".sessions a")
    page.wait_for_function("() => document.querySelectorAll('.sessions a').length > 1")
    expect(links.first).to_have_attribute("tabindex", "0")
    links.first.focus()
    page.evaluate(
        "() => { window.__taken = []; addEventListener('keydown', ({key, defaultPrevented}) => "
        "defaultPrevented && window.__taken.push(key)); }"
    )
    for keys in ("Shift+ArrowDown", "Control+End", "Alt+ArrowRight"):
        page.keyboard.press(keys)
    expect(links.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    assert page.evaluate("() => window.__taken") == ["ArrowDown"]


def test_an_agent_is_called_by_its_name_when_the_list_knew_of_it_first(
    browser: Browser, gateway: GatewayProcess
) -> None:
    """Also in a browser that never chose it."""
    agent = gateway.call("/api/agents", {"name": "Botanist", "model": "builtin/solver"})["id"]
    session = gateway.call("/api/sessions", {"agent": agent})["id"]
    turn = gateway.call(f"/api/sessions/{session}/turns", {"prompt": QUICK_QUESTION})["id"]
    with open_visit(browser, gateway.url) as visit:
        page = visit.open()
        wait_for(page, lambda: bool(gateway.call(f"/api/turns/{turn}")["state"] == "done"))
        delayed = DelayedRequests(page, f"**/{session}/messages*")
        page.click(f"a[href='#{session}']")
        delayed.wait()
        delayed.release()
        wait_for_answers(page)
        page.wait_for_selector(".composer .chip >> text=Botanist")


def test_the_answer_is_followed_after_the_thinking_above_it_closed(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """What becomes shorter takes the reader along to the end, and leaves the page at it."""
    gateway.call("/api/preferences", {"display": {"preset": "preview"}}, "PUT")
    session = keep_session(gateway, "Tall", *((f"question {n}", "", "word " * 300) for n in range(4)))
    page = visit.open(session)
    page.wait_for_selector(".answer >> text=word")
    ask(page, PUZZLE)
    wait_for_answers(page, 5)
    gateway.call("/api/preferences", {}, "PUT")
    page.wait_for_function(
        "() => { const {scrollHeight, scrollTop, clientHeight} = document.querySelector('.scroll'); "
        "return scrollHeight - scrollTop - clientHeight < 2; }"
    )
