"""What people expect of a chat page: files, an orderly list, commands, sharing, printing and figures."""

import base64
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect
from tests.patience import PATIENCE_S, patient_context
from tests.web.chat_page import QUICK_QUESTION, GatewayProcess, PageVisit, ask, open_visit, wait_for_answers
from tests.web.page_screenshots import PIXEL
from tests.web.pdf_text import page_texts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
HOSTILE = "<img src=x onerror=window.__ran=1><script>window.__ran=1</script></script><!--"
_DROP = """async ({files, kind, target: selector}) => {
  const data = new DataTransfer();
  for (const [name, text] of files) {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    data.items.add(new File([bytes], name));
  }
  const target = document.querySelector(kind === "paste" ? selector : ".main");
  target.dispatchEvent(kind === "paste"
    ? new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true})
    : new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


def give_files(page: "Page", kind: str, target: str = "#message", **files: bytes) -> None:
    """Paste files into a field or drop them on the page; `__` in a name stands for its dot."""
    named = [(name.replace("__", "."), base64.b64encode(content).decode()) for name, content in files.items()]
    page.evaluate(_DROP, {"files": named, "kind": kind, "target": target})


def session_item(page: "Page", title: str) -> Any:
    return page.locator(".sessions li").filter(has=page.get_by_role("link", name=title, exact=True))


def open_menu(page: "Page", title: str) -> Any:
    """Open the menu of a conversation in the list."""
    item = session_item(page, title)
    item.hover()
    item.get_by_role("button").first.click()
    return page.locator("#actions")


def test_pasted_and_dropped_files_go_with_the_question(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    give_files(page, "paste", shot__png=base64.b64decode(PIXEL))
    give_files(page, "drop", notes__txt=b"17 apples", paper__pdf=PDF, noise__bin=b"\x00\x01\x02")
    chips = page.locator(".attachment")
    chips.nth(2).wait_for()
    assert "noise.bin cannot be attached" in page.locator(".toast.bad").inner_text()
    assert chips.count() == 3
    refused = page.locator(".attachment.refused")
    expect(refused).to_have_count(2)  # once the page knows what the model takes
    assert [text.split("\n")[0] for text in refused.all_inner_texts()] == ["shot.png", "paper.pdf"]
    assert "takes no images" in refused.first.inner_text()
    page.get_by_role("button", name="Remove paper.pdf").click()
    expect(chips).to_have_count(2)
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    expect(chips).to_have_count(0)
    session = page.evaluate("() => location.hash.slice(1)")
    (question, *_) = gateway.call(f"/api/sessions/{session}/messages")["items"]
    assert question["content"] == f"{QUICK_QUESTION}\n\nnotes.txt:\n\n17 apples"
    assert [image["data"] for image in question["images"]] == [PIXEL]
    page.get_by_role("button", name="Ask again").click()
    page.get_by_text("2/2").wait_for()
    (again, *_) = gateway.call(f"/api/sessions/{session}/messages")["items"]
    assert again["images"], "the picture goes with the question when it is asked again"
    page.reload()
    picture = page.locator(".bubble img")
    assert picture.evaluate("async (node) => (await node.decode(), node.naturalWidth)") == 1


def test_conversations_are_renamed_pinned_and_deleted_with_undo(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    first = gateway.import_exchanges("Alpha", ("one", "a thought", "an answer"))
    gateway.import_exchanges("Beta", ("two", "a thought", "an answer"))
    page = visit.open(first)
    open_menu(page, "Beta").get_by_role("button", name="Pin").click()
    page.locator(".sessions section").first.get_by_role("heading", name="Pinned").wait_for()
    expect(page.locator(".sessions section").first.get_by_role("link")).to_have_text(["Beta"])
    open_menu(page, "Beta").get_by_role("button", name="Rename").click()
    page.locator(".sessions input").fill("Gamma")
    page.keyboard.press("Enter")
    session_item(page, "Gamma").wait_for()
    open_menu(page, "Alpha").get_by_role("button", name="Delete").click()
    session_item(page, "Alpha").wait_for(state="detached")
    assert gateway.call(f"/api/sessions/{first}")["title"] == "Alpha", "it can still be taken back"
    page.get_by_role("button", name="Undo").click()
    session_item(page, "Alpha").wait_for()
    page.locator(".title", has_text="Alpha").wait_for()
    open_menu(page, "Alpha").get_by_role("button", name="Delete").click()
    session_item(page, "Alpha").wait_for(state="detached")
    page.reload()  # leaving the page ends the time to undo
    until = time.monotonic() + PATIENCE_S
    while first in {one["id"] for one in gateway.call("/api/sessions")["items"]}:
        assert time.monotonic() < until
        time.sleep(0.1)
    session_item(page, "Gamma").wait_for()


def test_other_tabs_hide_a_conversation_while_its_deletion_can_be_undone(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = gateway.import_exchanges("Twice open", ("one", "a thought", "an answer"))
    deleting, other = visit.open(), visit.open()
    session_item(other, "Twice open").wait_for()
    open_menu(deleting, "Twice open").get_by_role("button", name="Delete").click()
    session_item(other, "Twice open").wait_for(state="detached")
    assert gateway.call(f"/api/sessions/{session}")["title"] == "Twice open", "it can still be taken back"
    deleting.get_by_role("button", name="Undo").click()
    session_item(other, "Twice open").wait_for()


def test_an_idle_page_notices_that_its_conversation_was_deleted_elsewhere(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    session = gateway.import_exchanges("Soon gone", ("one", "a thought", "an answer"))
    page = visit.open(session)
    wait_for_answers(page)
    session_item(page, "Soon gone").wait_for()
    gateway.call(f"/api/sessions/{session}", method="DELETE")
    page.wait_for_selector("text=This conversation is not there any more")


def test_recorded_conversations_are_grouped_by_client_and_live(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    def asked(words: str) -> None:
        body = {"model": "builtin/solver", "messages": [{"role": "user", "content": words}]}
        headers = {"Content-Type": "application/json", "User-Agent": "claude-cli/2.1.197 (external, cli)"}
        with urlopen(
            Request(f"{gateway.url}/v1/chat/completions", json.dumps(body).encode(), headers),
            timeout=PATIENCE_S,
        ) as answer:
            answer.read()

    page = visit.open()
    asked("how much is 2 + 3")
    group = page.locator(".sessions section", has=page.get_by_role("heading", name="Claude Code"))
    group.get_by_role("link", name="how much is 2 + 3").click()
    wait_for_answers(page)


def test_slash_menu_lists_and_runs_commands(visit: PageVisit) -> None:
    page = visit.open()
    page.locator("#message").press_sequentially("/th")
    options = page.locator(".slash-menu li")
    expect(options).to_have_text([re.compile("^/thinking")] * 3)  # of all commands, once `th` is typed
    expect(page.locator("#message")).to_have_attribute("aria-activedescendant", "command-0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(".toast", has_text="Thinking blocks: hidden").wait_for()
    expect(page.locator("#message")).to_have_value("")
    page.locator("#message").press_sequentially("/keys")
    page.keyboard.press("Enter")
    page.locator("dialog[open]").get_by_text("Show or hide thinking").wait_for()
    page.keyboard.press("Escape")
    page.locator("#message").fill("/etc/hosts is what?")
    expect(page.locator(".slash-menu"), "a path is no command").to_be_hidden()
    page.locator("#message").fill("")
    page.locator(".title").click()
    page.keyboard.press("?")
    sheet = page.locator("dialog[open]")
    assert "Ctrl+K" in sheet.inner_text()
    page.keyboard.press("Escape")
    page.locator("#message").press_sequentially("what?")
    assert sheet.count() == 0, "a question mark in a text is no key"


def test_sampling_settings_are_sent_with_every_question(visit: PageVisit) -> None:
    page = visit.open()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_text("How answers are made").click()
    page.get_by_label("Temperature").fill("7")
    page.get_by_label("Shape of the answer").fill("[1]")
    page.get_by_label("Seed").fill("11")
    page.get_by_label("Seed").blur()
    problem = page.locator(".error-text")
    expect(problem).to_contain_text("Temperature, Shape of the answer")
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_label("Shape of the answer").fill("")
    page.get_by_label("Stop before").fill("END\nSTOP")
    page.get_by_label("More fields").fill('{"top_k": 40}')
    page.get_by_label("More fields").blur()
    expect(problem).to_be_hidden()
    page.keyboard.press("Escape")
    page.locator(".tuned").wait_for()
    with page.expect_request(re.compile(r"/api/sessions/[^/]+/turns$")) as sent:
        ask(page, QUICK_QUESTION)
    body: Any = sent.value.post_data_json
    assert {name: body[name] for name in ("temperature", "seed", "stop", "extra")} == {
        "temperature": 0.5,
        "seed": 11,
        "stop": ["END", "STOP"],
        "extra": {"top_k": 40},
    }
    assert "output_schema" not in body
    wait_for_answers(page)


def test_tools_and_assistants_of_an_agent_are_edited(visit: PageVisit, gateway: GatewayProcess) -> None:
    helper = gateway.call("/api/agents", {"name": "Helper", "model": "builtin/solver"})["id"]
    page = visit.open()
    page.get_by_role("button", name="Agents").click()
    page.get_by_role("button", name="New agent").click()
    form = page.locator("dialog[open]").last
    form.get_by_label("Name").fill("Adder")
    form.get_by_label("calculator").check()
    form.get_by_label("Helper").check()
    form.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Edit Adder").click()
    (agent,) = [one for one in gateway.call("/api/agents")["items"] if one["name"] == "Adder"]
    assert (agent["uses"], agent["assistants"]) == (["calculator"], [helper])
    form = page.locator("dialog[open]").last
    expect(form.get_by_label("calculator")).to_be_checked()
    form.get_by_label("calculator").uncheck()
    with page.expect_response(f"**/api/agents/{agent['id']}"):  # the list behind the form is there all along
        form.get_by_role("button", name="Save").click()
    assert gateway.call(f"/api/agents/{agent['id']}")["uses"] == []


@pytest.mark.parametrize("thinking", [False, True])
def test_shared_file_opens_without_a_network(
    browser: "Browser", visit: PageVisit, gateway: GatewayProcess, tmp_path: Path, thinking: bool
) -> None:
    session = gateway.import_exchanges(
        f"Shared {thinking}", (f"ask {HOSTILE}", f"secretthought {HOSTILE}", f"**bold** {HOSTILE}")
    )
    page = visit.open(session)
    wait_for_answers(page)
    page.get_by_role("button", name="Actions for this conversation").click()
    page.get_by_role("button", name="Share as a file").click()
    preview = page.locator(".share-preview")
    if thinking:
        page.get_by_label("With thoughts and tools").check()
        page.get_by_text("thoughts 1").wait_for()
        expect(preview).to_contain_text("secretthought")
    else:
        expect(preview).to_contain_text("bold")
        expect(preview).not_to_contain_text("secretthought")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the file").click()
    path = tmp_path / "shared.html"
    download.value.save_as(path)
    text = path.read_text("utf-8")
    assert ("secretthought" in text) is thinking
    assert HOSTILE not in text
    with patient_context(browser, offline=True) as context:
        shared, problems = context.new_page(), []
        shared.on("pageerror", lambda error: problems.append(str(error)))
        shared.on("console", lambda message: problems.append(message.text))
        shared.goto(path.as_uri())
        shared.locator(".answer strong", has_text="bold").wait_for()
        assert HOSTILE in shared.locator(".answer").inner_text()
        assert shared.locator("thinking-block").count() == int(thinking)
        if thinking:
            shared.locator("thinking-block summary").first.click()
            assert "secretthought" in shared.evaluate("() => document.querySelector('thinking-block').text")
        assert shared.evaluate("() => window.__ran") is None
        assert problems == []


def test_print_has_the_conversation_and_no_controls(visit: PageVisit, gateway: GatewayProcess) -> None:
    exchanges = [(f"question {n}", "thought " * 400, "answer " * 200) for n in range(12)]
    page = visit.open(gateway.import_exchanges("Printed", *exchanges))
    wait_for_answers(page, 12)
    page.locator("thinking-block").first.evaluate("(node) => node.expandAll()")
    page.emulate_media(media="print")
    for part in (".side", ".composer", ".reply-tools", ".tools", ".edit-prompt"):
        expect(page.locator(part).first, part).to_be_hidden()
    expect(page.locator("h1.title")).to_be_visible()
    height, end = page.evaluate(
        "() => [document.body.scrollHeight,"
        " [...document.querySelectorAll('.exchange')].at(-1).getBoundingClientRect().bottom]"
    )  # at once, for blocks are still drawn
    assert end <= height + 1, "nothing is cut off below a scrolling part"
    assert height > 2000
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    assert pages > 3


@pytest.mark.parametrize("lines", [1, 150])
def test_print_begins_with_the_first_question_and_has_no_replay_bar(
    visit: PageVisit, gateway: GatewayProcess, lines: int
) -> None:
    question = "question 0 about ferns\n" + "and more of it\n" * lines
    page = visit.open(gateway.import_exchanges("Printed", (question, "a thought", "The fern wins.")))
    wait_for_answers(page)
    page.get_by_role("button", name="Replay").click()
    page.locator(".replay").wait_for()
    page.get_by_text("The fern wins.").wait_for()
    page.emulate_media(media="print")
    assert page.locator(".replay").is_hidden()
    first, *others = page_texts(page.pdf())
    assert first.startswith("Printedquestion0aboutferns")
    assert "Thefernwins." in "".join([first, *others])
    assert "×" not in first, "the speed of the replay"
    assert "".join([first, *others]).count("andmoreofit") == lines, "a long question is printed whole"
    assert "Showmore" not in first


def test_figures_are_a_chart_tables_and_links(visit: PageVisit, gateway: GatewayProcess) -> None:
    page = visit.open()
    ask(page, "make 24 from 4 7 8 8")
    wait_for_answers(page)
    session = page.evaluate("() => location.hash")
    page.get_by_role("button", name="Figures").click()
    dialog = page.locator("dialog[open]")
    dialog.locator(".u-wrap canvas").wait_for()
    assert dialog.locator(".tiles dt").all_inner_texts()[:2] == ["Thinking time", "Tokens in"]
    row = dialog.get_by_role("row").filter(has_text="Built-in solver").first
    assert int(row.locator("td").first.inner_text()) >= 1
    dialog.get_by_text("As a table").click()
    expect(dialog.get_by_role("region", name="Day").locator("tbody tr")).to_have_count(1)
    dialog.get_by_label("Chart").select_option("turns")
    dialog.locator("[aria-label=Answers] canvas").wait_for()
    total = gateway.call("/api/figures")["total"]
    assert total["turns"] >= 1
    link = dialog.locator("a.hit").filter(has_text="make 24").first
    assert (link.get_attribute("href") or "").startswith(f"./{session}")
    link.click()
    page.wait_for_function("() => location.hash.split('/').length === 3")
    expect(dialog).to_have_count(0)


def test_legend_of_the_chart_has_a_day_where_the_mouse_is(visit: PageVisit) -> None:
    """Without a mouse over the chart, no name waits for a value behind a colon."""
    page = visit.open()
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    page.get_by_role("button", name="Figures").click()
    day = page.locator(".figure-plot .u-series").first
    day.wait_for(state="attached")
    colon = "one => getComputedStyle(one.querySelector('th'), '::after').content"
    page.mouse.move(0, 0)
    expect(day).to_be_hidden()
    assert page.locator(".figure-plot .u-series").nth(1).evaluate(colon) == "none"
    page.hover(".figure-plot .u-over")
    expect(day).to_be_visible()
    page.hover(".figure-plot .u-legend")  # below the chart there is no day
    expect(day).to_be_hidden()


def test_figures_have_an_address_and_a_language(browser: "Browser", gateway: GatewayProcess) -> None:
    with open_visit(browser, gateway.url, locale="pt-BR") as visit:
        page = visit.open("figures")
        page.get_by_role("dialog", name="Números").wait_for()
        page.keyboard.press("Escape")
        page.wait_for_function("() => location.hash === ''")
