"""Ten thousand messages open at their end as quickly as forty, and any place in them is a click away."""

import signal
from pathlib import Path
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Browser
from tests.web.chat_page import gateway_at, open_visit, wait_for_answers

TURNS = 5_000
MOST_BYTES = 500_000
"""What may be read to show the end of it; all of it is many megabytes."""
NOT_FOUND = 404


def test_long_answers_open_at_their_end(browser: Browser, tmp_path: Path) -> None:
    """What is not in sight gets its size only as it is drawn; the end is the end all the same."""
    tall = "\n\n".join(f"Paragraph {n}. " + "More words. " * 20 for n in range(10))
    with gateway_at(tmp_path) as gateway:
        session = gateway.import_exchanges(
            "Tall", *((f"Question {n}", "A thought.", tall) for n in range(20))
        )
        with open_visit(browser, gateway.url) as visit:
            page = visit.open(session)
            wait_for_answers(page, 20)
            page.wait_for_timeout(600)
            page.wait_for_function(
                "() => { const {scrollTop, scrollHeight, clientHeight} = document.querySelector('.scroll'); "
                "return Math.abs(scrollHeight - scrollTop - clientHeight) <= 2; }"
            )


def test_ten_thousand_messages(browser: Browser, tmp_path: Path) -> None:
    with gateway_at(tmp_path) as gateway:
        session = gateway.import_exchanges(
            "Long", ("What comes next?", "A thought about it. " * 20, "An answer about it. " * 20)
        )
        gateway.stop(signal.SIGINT)
        gateway.multiply_turn(session, TURNS)
        gateway.start()
        with open_visit(browser, gateway.url) as visit:
            page = visit.open()
            page.wait_for_selector(".puzzle")
            page.evaluate("() => performance.clearResourceTimings()")
            page.evaluate("id => { location.hash = id; }", session)
            page.wait_for_function("() => document.querySelectorAll('.exchange').length >= 20")
            wait_for_answers(page, 20)
            read = page.evaluate(
                """() => performance.getEntriesByType("resource")
                  .reduce((sum, one) => sum + one.decodedBodySize, 0)"""
            )
            assert 0 < read < MOST_BYTES
            last = f"#{TURNS - 1}"
            assert page.locator(".bubble").last.inner_text().endswith(last)
            assert page.evaluate("() => document.querySelectorAll('*').length") < 5_000
            # On a busy machine more than the first page may be there before the reader scrolls.
            shown = page.evaluate(
                """() => {
                  document.querySelector(".scroll").scrollTop = 0;
                  return document.querySelectorAll(".exchange").length;
                }"""
            )
            page.wait_for_function(
                "shown => document.querySelectorAll('.exchange').length > shown", arg=shown
            )
            top = page.evaluate("() => document.querySelector('.scroll').scrollTop")
            assert top > 0, "the reader was thrown to the new beginning"

            page.evaluate("hash => { location.hash = hash; }", f"{session}/trn_{42:022d}/0")
            page.wait_for_function(
                "turn => document.getElementById(turn) && document.activeElement.id === turn",
                arg=f"trn_{42:022d}",
            )
            page.wait_for_function(
                "turn => document.getElementById(turn).querySelector('thinking-block').open",
                arg=f"trn_{42:022d}",
            )
            assert page.locator(".exchange").count() <= 40
            # On a busy machine a click may come while the turns above are still being drawn.
            page.wait_for_function(
                """() => {
                  if (document.querySelectorAll(".exchange").length >= 50) return true;
                  const later = [...document.querySelectorAll("button")]
                    .find(one => one.textContent.includes("Show later messages"));
                  later?.click();
                  return false;
                }""",
                polling=2_000,
            )
            page.get_by_role("button", name="Latest").click()
            page.wait_for_function(
                "last => [...document.querySelectorAll('.bubble')].at(-1).innerText.endsWith(last)", arg=last
            )


def test_a_conversation_can_be_read_from_its_end_and_from_any_turn(tmp_path: Path) -> None:
    """Pages go backwards, each in the order it was said; a turn of another session is no place in it."""
    with gateway_at(tmp_path) as gateway:
        session = gateway.import_exchanges("Pages", *((f"question {n}", "", f"answer {n}") for n in range(7)))
        other_session = gateway.import_exchanges("Other", ("elsewhere", "", "there"))
        path = f"/api/sessions/{session}/messages"
        turns = [turn["id"] for turn in gateway.call(f"/api/sessions/{session}")["turns"]]

        def read(query: str) -> tuple[list[str], str]:
            page = gateway.call(f"{path}?{query}")
            return [message["content"] for message in page["items"] if message["role"] == "user"], page[
                "next"
            ]

        last, cursor = read("order=newest&limit=3")
        assert last == ["question 4", "question 5", "question 6"]
        middle, cursor = read(f"order=newest&limit=3&after={cursor}")
        assert middle == ["question 1", "question 2", "question 3"]
        assert read(f"order=newest&limit=3&after={cursor}") == (["question 0"], "")
        assert read(f"order=newest&limit=2&turn={turns[3]}")[0] == ["question 2", "question 3"]
        onward, after = read(f"limit=2&turn={turns[3]}")
        assert onward == ["question 3", "question 4"]
        assert read(f"limit=9&after={after}") == (["question 5", "question 6"], "")
        assert read("limit=2")[0] == ["question 0", "question 1"]
        (foreign,) = gateway.call(f"/api/sessions/{other_session}")["turns"]
        for turn in (foreign["id"], "trn_nothing"):
            with pytest.raises(HTTPError) as error_info:
                read(f"turn={turn}")
            assert error_info.value.code == NOT_FOUND
            error_info.value.close()
