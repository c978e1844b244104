"""Hostile text wherever text turns up: no script runs, no request leaves, the page stays as it was.

The page runs under a policy that allows nothing but our own scripts, and Trusted Types that allow no sink.
"""

import os
import time

from playwright.sync_api import Page, Request
from tests.patience import PATIENCE_S
from tests.web.payloads import CANARY, PAYLOADS
from tests.web.site import Site

BATCH = 12
CUTS_AND_RENDERERS = (
    ("whole", "markdown"),
    ("ends", "markdown"),
    ("pieces", "markdown"),
    ("ends", "plain"),
)
"""Each has a quarter of the payloads, so that all are tried; in `make test-all` each has all."""

# One block for each payload and each way to cut it, with the payload in every place that shows text.
FEED = """async ({payloads, cut, render}) => {
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
  const nodes = [];
  for (const bad of payloads) {
    const node = put({render, actions: bad});
    let seq = 0;
    const tell = event => node.feed({seq: seq++, at_ms: seq * 100, event});
    const grow = (block, text) => {
      const size = cut === "whole" ? text.length : cut === "ends" ? Math.max(1,
        text.length - 1) : Math.ceil(text.length / 16);
      for (let at = 0; at < text.length; at += size) {
        tell({type: "block.grew", block, text: text.slice(at, at + size)});
        node.refresh();
      }
    };
    tell({type: "turn.started", model: bad, dialect: bad});
    tell({type: "block.started", block: 0, kind: "reasoning"});
    node.expandAll();
    grow(0, bad);
    tell({type: "block.ended", block: 0});
    tell({type: "block.started", block: 1, kind: "tool_call", name: bad, call_id: bad});
    grow(1, bad);
    tell({type: "block.ended", block: 1});
    tell({type: "notice.given", code: bad, text: bad, block: 1});
    tell({type: "tool.finished", block: 1, result: bad});
    tell({type: "block.started", block: 2, kind: "assistant_call", name: bad, assistant_id: bad});
    grow(2, bad);
    tell({type: "block.ended", block: 2});
    tell({type: "tool.finished", block: 2, error: bad});
    tell({type: "summary.written", text: bad});
    tell({type: "turn.failed", code: bad, message: bad});
    node.refresh();
    nodes.push(node);
  }
  await frame();
  for (const node of nodes)
    for (const link of node.shadowRoot.querySelectorAll("a, button, summary"))
      for (const kind of ["mouseover", "focus", "auxclick"]) link.dispatchEvent(new Event(kind,
        {bubbles: true}));
  await frame();
  const seen = nodes.flatMap(node => [...node.shadowRoot.querySelectorAll("*")]);
  const report = {
    owned: window.owned,
    hrefs: seen.filter(one => one.href).map(one => one.href.toString()).filter(href =>
      !/^(https?|mailto):/.test(href)),
    tags: [...new Set(seen.map(one => one.localName))].filter(tag => !TAGS.includes(tag)),
    handlers: seen.flatMap(one => [...one.attributes].map(attribute => attribute.name)).filter(name =>
      /^on|^style$|^src|^id$|^name$/.test(name)).filter(name => name !== "name"),
    directions: /[\\u202a-\\u202e\\u2066-\\u2069]/.test(nodes.map(node =>
      node.shadowRoot.textContent).join("")),
    outside: document.body.children.length, title: document.title, base: document.baseURI,
  };
  for (const node of nodes) node.remove();
  return report;
}""".replace(
    "TAGS",
    "['div','slot','details','summary','span','svg','path','p','ol','ul','li','a','code','pre','strong','em','s','hr',"
    "'blockquote','table','tr','th','td','button','meter']",
)


def test_there_are_many_payloads() -> None:
    assert len(set(PAYLOADS)) >= 150


def test_nothing_runs_nothing_loads_nothing_leaks(page: Page, site: Site) -> None:
    """S1, S2, S3: 150 payloads in every place of the element that shows text, cut in several ways."""
    ways = len(CUTS_AND_RENDERERS)
    requests: list[str] = []
    violations: list[str] = []
    page.on("request", lambda request: requests.append(_url(request)))
    page.on("console", lambda message: violations.append(message.text) if "Policy" in message.text else None)
    requests_before = page.evaluate("() => [document.body.children.length, document.title, document.baseURI]")
    for way, (cut, render) in enumerate(CUTS_AND_RENDERERS):
        tried = PAYLOADS if "ALL_CASES" in os.environ else PAYLOADS[way::ways]
        for at in range(0, len(tried), BATCH):
            payloads = tried[at : at + BATCH]
            report = page.evaluate(FEED, {"payloads": payloads, "cut": cut, "render": render})
            assert report["owned"] is None
            assert report["hrefs"] == []
            assert report["tags"] == [], payloads
            assert report["handlers"] == [], payloads
            assert report["directions"] is False, payloads
            assert report["outside"] <= requests_before[0] + 1  # the status line of the page
            assert [report["title"], report["base"]] == requests_before[1:]
    assert requests == []
    assert violations == []
    assert not any(CANARY in path for path in site.requests)


def test_content_security_policy_violations_are_noticed(page: Page) -> None:
    """The test above is worth something: the same page notices a bad sink and a foreign picture."""
    violations: list[str] = []
    page.on("console", lambda message: violations.append(message.text) if "Policy" in message.text else None)
    sink = "() => { try { document.body.innerHTML = '<b>x</b>'; return false; } catch { return true; } }"
    assert page.evaluate(sink)
    page.evaluate(f"() => {{ new Image().src = 'http://127.0.0.1:9/{CANARY}'; }}")
    until = time.monotonic() + PATIENCE_S
    while not any(CANARY in text for text in violations):
        assert time.monotonic() < until, "it was not noticed"
        page.wait_for_timeout(50)


def test_a_click_on_a_link_opens_nothing_of_ours(page: Page) -> None:
    page.evaluate(
        "() => { const node = put(); node.text = '[x](https://example.org/)'; node.open = true; "
        "node.refresh(); }"
    )
    link = page.locator("thinking-block a")
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"
    assert link.get_attribute("target") == "_blank"


def _url(request: Request) -> str:
    return request.url
