"""Questions that are sent while an answer is on its way: they wait, can be changed, and are asked once."""

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.chat_page import (
    QUICK_QUESTION,
    SLOW_PUZZLE,
    GatewayProcess,
    PageVisit,
    ask,
    block_events,
    change_language,
    open_visit,
    wait_for_answers,
)
from tests.web.page_screenshots import PIXEL
from tests.web.test_page_features import give_files
from tests.web.test_page_races import DelayedRequests, exchanges, stir

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WITHOUT_LOCKS = "Object.defineProperty(Navigator.prototype, 'locks', {value: undefined})"

IN_THE_BACKGROUND = "Object.defineProperty(document, 'hidden', {get: () => true})"
"""A window that nobody sees asks the gateway for nothing every few seconds: what is not sent then stays."""


@pytest.fixture
def english_again(gateway: GatewayProcess) -> Iterator[None]:
    """Gives the gateway its language back, which a test changes on the page."""
    yield
    gateway.call("/api/preferences", {"language": "en-US"}, "PUT")


def session_of(page: "Page") -> str:
    return str(page.evaluate("() => location.hash.slice(1)"))


def questions(gateway: GatewayProcess, page: "Page") -> list[str]:
    """What was asked in the open conversation, in order."""
    session = page.evaluate("() => location.hash.slice(1)")
    messages = gateway.call(f"/api/sessions/{session}/messages")["items"]
    return [message["content"] for message in messages if message["role"] == "user"]


def start_slow_turn(page: "Page") -> None:
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")


def test_question_sent_while_a_turn_runs_waits_and_is_asked_after_it(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, "how much is 1 + 1")
    ask(page, "how much is 2 + 2")
    ask(page, "how much is 3 + 3")
    rows = page.locator(".queue li")
    expect(rows).to_have_count(3)
    assert page.input_value("#message") == ""
    rows.nth(1).get_by_role("button", name="Remove the waiting question").click()
    expect(rows).to_have_count(2)
    rows.nth(1).get_by_role("button", name="Edit the waiting question").click()
    field = page.locator(".queue textarea")
    field.press("End")
    field.press_sequentially("0")
    field.press("Shift+Enter")
    field.press_sequentially("please")
    field.press("Enter")
    expect(rows.nth(1)).to_contain_text("how much is 3 + 30")
    page.reload()
    expect(rows).to_have_count(2)
    expect(page.locator(".queue")).to_contain_text("Sent when the answer is complete")
    wait_for_answers(page, 3)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page) == [SLOW_PUZZLE, "how much is 1 + 1", "how much is 3 + 30\nplease"]


def test_long_waiting_question_is_not_cut_within_an_emoji(visit: PageVisit) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, "x" * 299 + "😀😀")
    expect(page.locator(".queue-text")).to_have_text("x" * 299 + "😀")


def test_waiting_question_stays_after_a_stopped_turn_until_it_is_sent(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    page.locator(".queue li").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".queue")).to_contain_text("Not sent: the last answer was stopped or failed")
    page.reload()
    expect(page.locator(".queue")).to_contain_text("Not sent: the last answer was stopped or failed")
    assert questions(gateway, page) == [SLOW_PUZZLE]
    page.locator(".queue").get_by_role("button", name="Send").click()
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page) == [SLOW_PUZZLE, QUICK_QUESTION]


@pytest.mark.parametrize("locks", [True, False])
def test_two_windows_send_a_waiting_question_once(
    browser: "Browser", gateway: GatewayProcess, locks: bool
) -> None:
    with open_visit(browser, gateway.url) as visit:
        if not locks:  # as on an address that is not secure
            visit.context.add_init_script(WITHOUT_LOCKS)
        page = visit.open()
        start_slow_turn(page)
        other = visit.open(page.evaluate("() => location.hash.slice(1)"))
        other.wait_for_selector("[aria-busy=true]")
        ask(page, QUICK_QUESTION)
        expect(other.locator(".queue li")).to_have_count(1)
        ask(other, "how much is 5 + 5")
        expect(page.locator(".queue li")).to_have_count(2)
        for window in (page, other):
            wait_for_answers(window, 3)
            expect(window.locator(".queue")).to_be_hidden()
            expect(window.locator(".exchange")).to_have_count(3)
        assert questions(gateway, page) == [SLOW_PUZZLE, QUICK_QUESTION, "how much is 5 + 5"]


def test_question_waits_while_the_first_one_of_a_conversation_is_on_its_way(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    held = []
    page.route(
        "**/api/sessions",
        lambda route: held.append(route) if route.request.method == "POST" else route.continue_(),
    )
    ask(page, QUICK_QUESTION)
    ask(page, "how much is 6 + 6")
    expect(page.locator(".queue li")).to_have_count(1)
    for route in held:
        route.continue_()
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page) == [QUICK_QUESTION, "how much is 6 + 6"]


def test_refused_waiting_question_stays_and_is_tried_again(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    page.locator(".queue li").wait_for()
    refusal = {"code": "invalid", "message": "Not today."}
    page.route("**/turns", lambda route: route.fulfill(status=400, json={"error": refusal}))
    page.locator(".error-card", has_text="Not today.").wait_for()
    expect(page.locator(".queue")).to_contain_text("Not sent yet")
    page.unroute("**/turns")
    page.get_by_role("button", name="Try again").click()
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page) == [SLOW_PUZZLE, QUICK_QUESTION]


def edit_waiting_question(page: "Page", text: str) -> None:
    page.get_by_role("button", name="Edit the waiting question").first.click()
    page.locator(".queue textarea").fill(text)


def go_to(page: "Page", session: str) -> None:
    page.evaluate("id => { location.hash = id; }", session)


def test_question_that_is_edited_while_it_is_about_to_be_sent_is_sent_as_edited(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    page.locator(".queue li").wait_for()
    delayed = DelayedRequests(page, "**/api/sessions/*?limit=1")
    delayed.wait()
    edit_waiting_question(page, "how much is 2 + 3")
    delayed.release()
    expect(page.locator(".queue")).to_contain_text("Not sent yet")
    page.locator(".queue textarea").press("Enter")
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page) == [SLOW_PUZZLE, "how much is 2 + 3"]


def test_edited_text_stays_when_another_window_removes_the_question(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    other = visit.open(page.evaluate("() => location.hash.slice(1)"))
    edit_waiting_question(page, "how much is 2 + 3")
    expect(other.locator(".queue")).to_contain_text("Not sent yet: waits until you press Send")
    other.get_by_role("button", name="Remove the waiting question").click()
    expect(other.locator(".queue")).to_be_hidden()
    wait_for_answers(page)
    expect(page.locator(".queue textarea")).to_have_value("how much is 2 + 3")
    page.locator(".queue textarea").press("Enter")
    expect(page.locator(".queue li")).to_contain_text("how much is 2 + 3")
    edit_waiting_question(page, "how much is 2 + 4")
    page.locator(".queue textarea").press("Enter")
    page.locator(".queue").get_by_role("button", name="Send").click()
    wait_for_answers(page, 2)
    assert questions(gateway, page) == [SLOW_PUZZLE, "how much is 2 + 4"]


@pytest.mark.parametrize("how", ["another conversation", "a reload"])
def test_edit_that_is_left_keeps_its_text_until_it_is_sent(
    visit: PageVisit, gateway: GatewayProcess, how: str
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    edit_waiting_question(page, "how much is 2 + 3")
    if how == "a reload":
        page.reload()
    else:
        session = page.evaluate("() => location.hash.slice(1)")
        go_to(page, "")
        expect(page.locator(".queue")).to_be_hidden()
        go_to(page, session)
    expect(page.locator(".queue li")).to_contain_text("how much is 2 + 3")
    expect(page.locator(".queue")).to_contain_text("Not sent yet: waits until you press Send")
    wait_for_answers(page)
    page.locator(".queue").get_by_role("button", name="Send").click()
    wait_for_answers(page, 2)
    assert questions(gateway, page) == [SLOW_PUZZLE, "how much is 2 + 3"]


def test_file_pasted_into_an_edit_that_is_left_goes_with_the_question(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    session = page.evaluate("() => location.hash.slice(1)")
    edit_waiting_question(page, "how much is 2 + 3")
    give_files(page, "paste", ".queue textarea", shot__png=base64.b64decode(PIXEL))
    expect(page.locator(".queue .attachment")).to_have_count(1)
    go_to(page, "")
    expect(page.locator(".queue")).to_be_hidden()
    go_to(page, session)
    expect(page.locator(".queue li")).to_contain_text("how much is 2 + 3")
    wait_for_answers(page)
    page.locator(".queue button").first.click()
    wait_for_answers(page, 2)
    messages = gateway.call(f"/api/sessions/{session}/messages")["items"]
    question = [message for message in messages if message["role"] == "user"][-1]
    assert question["content"] == "how much is 2 + 3"
    assert [image["data"] for image in question["images"]] == [PIXEL]


def test_question_behind_the_first_one_stays_in_its_conversation_when_the_reader_leaves(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    elsewhere = gateway.import_exchanges("Elsewhere", ("one", "", "1"))
    page = visit.open()
    delayed = DelayedRequests(page, "**/api/sessions", "POST")
    ask(page, QUICK_QUESTION)
    ask(page, "how much is 6 + 6")
    expect(page.locator(".queue li")).to_have_count(1)
    go_to(page, elsewhere)
    wait_for_answers(page)
    expect(page.locator(".queue")).to_be_hidden()
    with page.expect_response("**/turns"):
        delayed.release()
    created = delayed.routes[0].request.response()
    assert created
    go_to(page, "")
    page.wait_for_selector(".puzzle")
    expect(page.locator(".queue")).to_be_hidden()
    go_to(page, created.json()["id"])
    wait_for_answers(page, 2)
    assert questions(gateway, page) == [QUICK_QUESTION, "how much is 6 + 6"]


def test_question_that_stayed_is_not_sent_after_one_that_was_asked_by_hand(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    remove = page.get_by_role("button", name="Remove the waiting question")
    remove.focus()
    page.get_by_role("button", name="Stop", exact=True).evaluate("button => button.click()")
    expect(page.locator(".queue")).to_contain_text("Not sent: the last answer was stopped or failed")
    expect(remove).to_be_focused()
    ask(page, "how much is 6 + 6")
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_contain_text("Not sent yet: waits until you press Send")
    page.locator(".queue").get_by_role("button", name="Send").click()
    wait_for_answers(page, 3)
    assert questions(gateway, page) == [SLOW_PUZZLE, "how much is 6 + 6", QUICK_QUESTION]


def test_question_that_is_sent_by_itself_leaves_the_reader_where_they_are(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    events = [*block_events(0, "text", "A line of it.\n\n" * 100), {"type": "turn.ended", "finish": "stop"}]
    page = visit.open(gateway.import_events("Tall", events, model="solver"))
    wait_for_answers(page)
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    page.locator(".queue li").wait_for()
    page.evaluate("() => { document.querySelector('.scroll').scrollTop = 0; }")
    wait_for_answers(page, 3)
    assert page.evaluate("() => document.querySelector('.scroll').scrollTop") == 0


def test_full_storage_is_told_when_a_question_waits(visit: PageVisit) -> None:
    visit.context.add_init_script("""Storage.prototype.setItem = new Proxy(Storage.prototype.setItem, {
      apply(set, area, [key, text]) {
        if (key.startsWith("thinkaloud-queue")) throw new DOMException("full", "QuotaExceededError");
        return set.call(area, key, text);
      },
    })""")
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    expect(page.locator(".toast")).to_contain_text("This browser could not store the waiting questions")
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()


@pytest.mark.usefixtures("english_again")
@pytest.mark.parametrize("removed", [False, True], ids=["waiting", "removed elsewhere"])
def test_edit_of_a_waiting_question_stays_open_in_another_language(
    visit: PageVisit, gateway: GatewayProcess, removed: bool
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    edit_waiting_question(page, "how much is 2 + 3")
    give_files(page, "paste", ".queue textarea", shot__png=base64.b64decode(PIXEL))
    expect(page.locator(".queue .attachment")).to_have_count(1)
    page.locator(".queue textarea").evaluate("field => field.setSelectionRange(3, 8)")
    if removed:
        other = visit.open(session_of(page))
        other.get_by_role("button", name="Remove the waiting question").click()
        expect(other.locator(".queue")).to_be_hidden()
        other.close()
        wait_for_answers(page)
    change_language(page, "pt-BR")
    field = page.locator(".queue textarea")
    expect(field).to_have_value("how much is 2 + 3")
    expect(page.locator(".queue").get_by_role("button", name="Salvar")).to_be_visible()
    expect(page.locator(".queue .attachment")).to_have_count(1)
    assert field.evaluate("field => [field.selectionStart, field.selectionEnd]") == [3, 8]
    field.press("Enter")
    if removed:
        page.locator(".queue").get_by_role("button", name="Enviar").click()
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page) == [SLOW_PUZZLE, "how much is 2 + 3"]
    (*_, question, _) = gateway.call(f"/api/sessions/{session_of(page)}/messages")["items"]
    assert [image["data"] for image in question["images"]] == [PIXEL]


@pytest.mark.usefixtures("english_again")
def test_refused_question_is_in_the_message_box_of_another_language(visit: PageVisit) -> None:
    page = visit.open()
    delayed = DelayedRequests(page, "**/turns", "POST")
    page.fill("#message", QUICK_QUESTION)
    give_files(page, "paste", shot__png=base64.b64decode(PIXEL))
    page.locator(".attachment").wait_for()
    page.locator("#message").press("Enter")
    delayed.wait()
    page.get_by_role("button", name="Settings", exact=True).click()
    with page.expect_response(lambda response: response.request.method == "PUT"):
        page.get_by_label("Language").select_option("pt-BR")
    delayed.routes[0].fulfill(status=400, json={"error": {"code": "invalid", "message": "Not today."}})
    expect(page.get_by_role("button", name="Configurações", exact=True)).to_be_visible()
    expect(page.locator("#message")).to_have_value(QUICK_QUESTION)
    expect(page.locator(".composer .attachment")).to_have_count(1)


@pytest.mark.parametrize("waiting", [False, True], ids=["by hand", "from the list"])
def test_turn_that_ends_before_its_request_is_answered_lets_the_next_question_go(
    visit: PageVisit, gateway: GatewayProcess, waiting: bool
) -> None:
    visit.context.add_init_script(IN_THE_BACKGROUND)
    page = visit.open(
        gateway.import_events("Here", [{"type": "turn.ended", "finish": "stop"}], model="solver")
    )
    wait_for_answers(page)
    if waiting:
        start_slow_turn(page)
    delayed = DelayedRequests(page, "**/turns", "POST")
    ask(page, QUICK_QUESTION)
    delayed.wait()
    ask(page, "how much is 6 + 6")
    expect(page.locator(".queue li")).to_have_count(1 + waiting)
    response = delayed.routes[0].fetch()  # it got through, and the answer is on its way
    stir(page, session_of(page))
    exchanges(page, 2 + waiting)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.locator(".reply-foot")).to_have_count(2 + waiting)
    delayed.delaying = False
    delayed.routes[0].fulfill(response=response)
    wait_for_answers(page, 3 + waiting)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page)[-2:] == [QUICK_QUESTION, "how much is 6 + 6"]


@pytest.mark.parametrize(
    "path", ["**/turns", "**/api/sessions/*?limit=1"], ids=["turn running", "unavailable"]
)
def test_waiting_question_that_cannot_be_sent_yet_goes_on_waiting(
    visit: PageVisit, gateway: GatewayProcess, path: str
) -> None:
    """Another device was faster, or the gateway is not there for a moment."""
    visit.context.add_init_script(IN_THE_BACKGROUND)
    page = visit.open()
    start_slow_turn(page)
    ask(page, QUICK_QUESTION)
    page.locator(".queue li").wait_for()
    delayed = DelayedRequests(page, path, "POST" if path == "**/turns" else "GET")
    delayed.wait()
    delayed.delaying = False
    status, code = (409, "turn_running") if path == "**/turns" else (503, "unavailable")
    delayed.routes[0].fulfill(status=status, json={"error": {"code": code, "message": "Not now."}})
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()
    expect(page.locator(".error-card, .toast.bad")).to_have_count(0)
    assert questions(gateway, page) == [SLOW_PUZZLE, QUICK_QUESTION]


def test_waiting_question_whose_request_is_cut_off_by_a_reload_is_asked_once(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    start_slow_turn(page)
    ask(page, SLOW_PUZZLE)
    page.locator(".queue li").wait_for()
    delayed = DelayedRequests(page, "**/turns", "POST")
    delayed.wait()
    other = visit.open(session_of(page))
    expect(other.get_by_role("button", name="Edit the waiting question")).to_be_disabled()
    other.close()
    delayed.routes[0].fetch()  # it got through, and nobody sees the answer
    delayed.delaying = False
    page.reload()
    page.wait_for_selector(".exchange[aria-busy=true]")
    expect(page.locator(".queue")).to_be_hidden()
    assert page.locator(".exchange[aria-busy=true]").count() == 1, "the turn still runs"
    wait_for_answers(page, 2)
    assert questions(gateway, page) == [SLOW_PUZZLE, SLOW_PUZZLE]


@pytest.mark.parametrize("new", [False, True], ids=["open", "new"])
def test_question_behind_a_refused_one_is_sent_by_a_person(
    visit: PageVisit, gateway: GatewayProcess, new: bool
) -> None:
    ended = {"type": "turn.ended", "finish": "stop"}
    page = visit.open("" if new else gateway.import_events("Here", [ended], model="solver"))
    if not new:
        wait_for_answers(page)
    delayed = DelayedRequests(page, "**/turns", "POST")
    ask(page, "not this one")
    delayed.wait()
    ask(page, SLOW_PUZZLE)
    page.locator(".queue li").wait_for()
    delayed.delaying = False
    delayed.routes[0].fulfill(status=400, json={"error": {"code": "invalid", "message": "Not today."}})
    expect(page.locator("#message")).to_have_value("not this one")
    with page.expect_response("**/api/sessions?pinned=false&limit=40"):  # the page looks for what is new
        pass
    expect(page.locator(".queue")).to_contain_text("Not sent yet: waits until you press Send")
    page.locator(".queue").get_by_role("button", name="Send").click()
    page.wait_for_selector(".exchange[aria-busy=true]")
    expect(page.locator(".queue")).to_be_hidden()
    assert page.locator(".exchange[aria-busy=true]").count() == 1, "the turn still runs"
    wait_for_answers(page, 1 if new else 2)
    assert questions(gateway, page)[-1] == SLOW_PUZZLE


def test_waiting_question_is_sent_in_its_conversation_after_the_reader_came_back(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """The reader goes to another conversation and back while the question is about to be sent."""
    visit.context.add_init_script(IN_THE_BACKGROUND)
    page = visit.open()
    start_slow_turn(page)
    session = session_of(page)
    ask(page, QUICK_QUESTION)
    page.locator(".queue li").wait_for()
    delayed = DelayedRequests(page, f"**/api/sessions/{session}?limit=1")
    delayed.wait()
    go_to(page, "")
    page.wait_for_selector(".puzzle")
    go_to(page, session)
    delayed.wait(2)
    delayed.release()
    wait_for_answers(page, 2)
    expect(page.locator(".queue")).to_be_hidden()
    assert questions(gateway, page) == [SLOW_PUZZLE, QUICK_QUESTION]
