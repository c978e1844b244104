"""Pasting into the message box and into the box that edits a question: what is sent is what was pasted."""

import base64
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.chat_page import (
    QUICK_QUESTION,
    GatewayProcess,
    PageVisit,
    ask,
    block_events,
    change_language,
    wait_for_answers,
)
from tests.web.page_screenshots import PIXEL
from tests.web.test_page_features import give_files
from tests.web.test_page_races import DelayedRequests

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXTS = {
    "an editor": "\tif a:\r\n\t\treturn\u00a0b  \r\n\r\n    end\r\n",
    "a terminal": "  $ ls -l\n-rw-r--r--  1 me  me   12 a.txt\n\n\n",
    "emoji": "👩\u200d👩\u200d👧 e\u0301",
    "right to left": "\u05e9\u05dc\u05d5\u05dd, hello \u0645\u0631\u062d\u0628\u0627",
    "a path": "./run.sh --all\n/etc/hosts",
}
_WRITE = """async (formats) => {
  const blobs = Object.entries(formats).map(([type, text]) => [type, new Blob([text], {type})]);
  await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
}"""
_PASTE_WITH_PICTURE = """({text, name}) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const bytes = Uint8Array.from(atob(name.data), (one) => one.charCodeAt(0));
  data.items.add(new File([bytes], name.file));
  const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
  return document.querySelector("#message").dispatchEvent(event);
}"""


def paste(page: "Page", **formats: str) -> None:
    """Put something on the clipboard and press the keys that paste it."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(_WRITE, {kind.replace("_", "/"): text for kind, text in formats.items()})
    page.keyboard.press("Control+v")


def go_to(page: "Page", session: str) -> None:
    page.evaluate("id => { location.hash = id; }", session)


def normalized_lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def last_question(gateway: GatewayProcess, page: "Page") -> str:
    session = page.evaluate("() => location.hash.slice(1).split('/')[0]")
    messages = gateway.call(f"/api/sessions/{session}/messages")["items"]
    return str([message for message in messages if message["role"] == "user"][-1]["content"])


def test_pasted_text_is_sent_as_it_is(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    for count, (source, text) in enumerate(TEXTS.items(), 1):
        page.locator("#message").focus()
        paste(page, text_plain=text)
        page.keyboard.press("Enter")
        wait_for_answers(page, count)
        assert last_question(gateway, page) == normalized_lines(text), source


def test_text_pasted_into_an_edited_question_is_sent_as_it_is(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    page = visit.open()
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    for version, (source, text) in enumerate(TEXTS.items(), 2):
        page.get_by_role("button", name="Edit the question").click()
        page.keyboard.press("Control+a")
        paste(page, text_plain=text)
        page.keyboard.press("Enter")
        page.get_by_text(f"{version}/{version}").wait_for()
        wait_for_answers(page)
        assert last_question(gateway, page) == normalized_lines(text), source


def test_only_the_text_of_a_web_page_is_pasted(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    page.locator("#message").focus()
    paste(page, text_html="<h1><b>17</b> <i>apples</i></h1>", text_plain="17 apples")
    assert page.input_value("#message") == "17 apples"


def test_long_pasted_text_is_a_chip_that_is_viewed_kept_removed_and_sent(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    text = "".join(f"  line {n} of it\r\n" for n in range(1_200))
    page = visit.open()
    page.locator("#message").focus()
    paste(page, text_plain=text)
    chip = page.locator(".attachment")
    expect(chip).to_contain_text("Pasted text")
    assert page.input_value("#message") == ""
    page.reload()
    expect(chip).to_have_count(1)
    page.get_by_role("button", name="View the pasted text").click()
    assert page.locator("dialog pre").text_content() == normalized_lines(text)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove Pasted text").click()
    expect(chip).to_have_count(0)
    page.locator("#message").focus()
    paste(page, text_plain=text)
    expect(chip).to_have_count(1)
    page.keyboard.press("Enter")
    wait_for_answers(page)
    expect(chip).to_have_count(0)
    assert last_question(gateway, page) == normalized_lines(text)
    height = "() => document.querySelector('.exchange').getBoundingClientRect().height"
    assert page.evaluate(height) < 1_000
    more = page.get_by_role("button", name="Show more")
    expect(more).to_have_attribute("aria-expanded", "false")
    more.click()
    assert page.evaluate(height) > 10_000
    page.get_by_role("button", name="Show less").click()
    assert page.evaluate(height) < 1_000


def test_refused_question_goes_back_with_its_pasted_text_and_out_again_once(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    text = "line\n" * 1_000
    events = [*block_events(0, "text", "1"), {"type": "turn.ended", "finish": "stop"}]
    first, other = (gateway.import_events(name, events, model="solver") for name in ("First", "Other"))
    page = visit.open(first)
    wait_for_answers(page)
    chip = page.locator(".attachment")
    delayed = DelayedRequests(page, "**/turns", "POST")
    page.locator("#message").focus()
    paste(page, text_plain=text)
    ask(page, QUICK_QUESTION)
    delayed.wait()
    page.evaluate("id => { location.hash = id; }", other)
    expect(page.locator(".title")).to_have_text("Other")
    refusal = {"error": {"code": "invalid", "message": "Not today."}}
    delayed.routes[0].fulfill(status=400, json=refusal)
    page.locator(".toast", has_text="Not today.").wait_for()
    expect(chip).to_have_count(0)
    expect(page.locator("#message")).to_have_value("")
    page.evaluate("id => { location.hash = id; }", first)
    expect(chip).to_have_count(1)
    expect(page.locator("#message")).to_have_value(QUICK_QUESTION)
    page.locator("#message").press("Enter")
    delayed.wait(2)
    delayed.routes[1].fulfill(status=400, json=refusal)
    delayed.delaying = False
    page.get_by_role("button", name="Try again").click()
    wait_for_answers(page, 2)
    expect(chip).to_have_count(0)
    expect(page.locator("#message")).to_have_value("")
    assert last_question(gateway, page) == f"{QUICK_QUESTION}\n\n{text}"


def test_text_pasted_just_before_enter_is_sent(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    delayed = DelayedRequests(page, "**/static/attachments-*.js")
    page.locator("#message").fill("count this")
    paste(page, text_plain="line\n" * 1_000)
    delayed.wait()
    page.keyboard.press("Enter")
    delayed.release()
    wait_for_answers(page)
    assert last_question(gateway, page) == "count this\n\n" + "line\n" * 1_000


def test_a_megabyte_of_pasted_text_is_sent_whole(visit: PageVisit, gateway: GatewayProcess) -> None:
    text = "0123456789abcde\n" * 65_536
    page = visit.open()
    page.locator("#message").focus()
    paste(page, text_plain=text)
    expect(page.locator(".attachment")).to_contain_text("1,048,576 characters")
    ask(page, "count this")
    wait_for_answers(page)
    assert last_question(gateway, page) == f"count this\n\n{text}"


def test_pasted_text_of_an_office_program_comes_without_its_picture(visit: PageVisit) -> None:
    page = visit.open()
    picture = {"data": PIXEL, "file": "image.png"}
    untouched = page.evaluate(_PASTE_WITH_PICTURE, {"text": "a\tb\n1\t2", "name": picture})
    assert untouched, "the browser pastes the text"
    expect(page.locator(".attachment")).to_have_count(0)
    taken = not page.evaluate(_PASTE_WITH_PICTURE, {"text": "file:///home/me/image.png", "name": picture})
    assert taken, "a copied file comes with its name as text"
    expect(page.locator(".attachment")).to_have_count(1)
    give_files(page, "paste", shot__png=base64.b64decode(PIXEL))
    expect(page.locator(".attachment")).to_have_count(2)


def test_file_pasted_into_an_edited_question_goes_with_it(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    page.get_by_role("button", name="Edit the question").click()
    give_files(page, "paste", ".edit textarea", shot__png=base64.b64decode(PIXEL), notes__txt=b"17 apples")
    expect(page.locator(".edit .attachment")).to_have_count(2)
    page.locator(".edit textarea").press("Enter")
    page.get_by_text("2/2").wait_for()
    wait_for_answers(page)
    session = page.evaluate("() => location.hash.slice(1).split('/')[0]")
    (question, *_) = gateway.call(f"/api/sessions/{session}/messages")["items"]
    assert question["content"] == f"{QUICK_QUESTION}\n\nnotes.txt:\n\n17 apples"
    assert [image["data"] for image in question["images"]] == [PIXEL]


@pytest.mark.parametrize("how", ["another conversation", "another language"])
def test_edit_of_a_question_stays_as_it_is_while_something_else_is_shown(
    visit: PageVisit, gateway: GatewayProcess, how: str
) -> None:
    page = visit.open()
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    session = page.evaluate("() => location.hash.slice(1).split('/')[0]")
    page.get_by_role("button", name="Edit the question").click()
    page.locator(".edit textarea").fill("how much is 2 + 3")
    give_files(page, "paste", ".edit textarea", shot__png=base64.b64decode(PIXEL))
    expect(page.locator(".edit .attachment")).to_have_count(1)
    if how == "another language":
        change_language(page, "pt-BR")
        expect(page.locator(".edit").get_by_role("button", name="Cancelar")).to_be_visible()
    else:
        go_to(page, "")
        page.wait_for_selector(".puzzle")
        go_to(page, session)
    expect(page.locator(".edit textarea")).to_have_value("how much is 2 + 3")
    expect(page.locator(".edit .attachment")).to_have_count(1)
    page.locator(".edit textarea").press("Enter")
    page.get_by_text("2/2").wait_for()
    expect(page.locator(".edit")).to_have_count(0)
    gateway.call("/api/preferences", {"language": "en-US"}, "PUT")
