"""`thinkaloud flutter` as a person starts it: a gateway inside, a question, and Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page
from tests.patience import PATIENCE_MS, PATIENCE_S

QUESTION = "how much is 17 * 3"
SLOW_QUESTION = "reach 952 from 25 50 75 100 3 6"
"""Takes the built-in model some seconds to answer."""


def started(home: Path) -> "subprocess.Popen[str]":
    """Start the command as a shell does in the background: with interrupts ignored."""
    return subprocess.Popen(
        ["sh", "-c", f"trap '' INT; exec {sys.executable} -m thinkaloud flutter --no-browser"],
        env={**os.environ, "THINKALOUD_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(page: Page, question: str) -> None:
    box = page.locator("textarea").first
    while box.input_value() != question:
        box.focus()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(question)
        page.wait_for_timeout(50)
    page.keyboard.press("Enter")


def test_question_is_answered_and_interrupts_end_the_command_in_the_background(
    browser: Browser, tmp_path: Path
) -> None:
    """The first Ctrl-C waits for the running turn, the second stops it; nothing else is printed."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    with started(tmp_path) as run:
        try:
            assert run.stdout is not None
            assert run.stderr is not None
            page.goto(run.stdout.readline().strip())
            page.wait_for_selector("flt-semantics-placeholder", state="attached")
            page.evaluate("document.querySelector('flt-semantics-placeholder').click()")
            page.wait_for_selector("[flt-semantics-identifier=send]", state="attached")
            ask(page, QUESTION)
            page.wait_for_selector("[flt-semantics-identifier=copy]", state="attached")
            assert any("51" in text for text in page.locator("flt-semantics").all_text_contents())
            ask(page, SLOW_QUESTION)
            page.wait_for_selector("[flt-semantics-identifier=stop]", state="attached")
            assert "Ctrl-C stops" in run.stderr.readline()
            run.send_signal(signal.SIGINT)
            assert "1 turn still runs" in run.stderr.readline()
            run.send_signal(signal.SIGINT)
            assert run.wait(PATIENCE_S) == 130
            assert run.stderr.read() == ""
        finally:
            run.kill()
            context.close()
