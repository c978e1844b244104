"""The documentation site builds, without a dead link and without anything from another host."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scripts import docs
from tests.patience import patient_context
from tests.web.test_examples import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OPENED = ("", "changelog/", "contributing/", "how-to/ask/", "reference/api/")
"""Pages of each kind. All have the same scripts."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    assert docs.main(folder) == 0
    return folder / "site"


def test_every_page_is_on_the_site_and_can_be_searched(site: Path) -> None:
    places = {place for place in docs.pages().values() if place.endswith(".md")}
    built = {path.relative_to(site).parent.as_posix() for path in site.rglob("index.html")}
    addresses = {"." if place == "index.md" else place.removesuffix(".md") for place in places}
    assert addresses == built
    found = {
        item["location"].partition("#")[0]
        for item in json.loads((site / "search.json").read_bytes())["items"]
    }
    assert len(found) >= len(places)


def test_nothing_is_requested_from_another_host(site: Path, browser: "Browser") -> None:
    """Scripts of the theme ask the forge for numbers if the site names its repository to them."""
    requested: list[str] = []
    with served(site) as address, patient_context(browser) as context:
        page = context.new_page()
        page.on("request", lambda request: requested.append(request.url))
        for path in OPENED:
            page.goto(f"{address}/{path}", wait_until="networkidle")
        page.get_by_role("button", name="Search").first.click()
        page.wait_for_load_state("networkidle")
    other_hosts = [url for url in requested if not url.removeprefix("blob:").startswith(address)]
    assert (bool(requested), other_hosts) == (True, [])


def test_a_dead_link_stops_the_build(tmp_path: Path) -> None:
    text = "[one](how-to/ask.md#ask) [two](../Makefile) [three](nowhere.md) `[four](code.md)` [five](https://x.test)"
    changed, missing = docs.with_links(text, "docs/stories.md", docs.pages())
    assert missing == ["nowhere.md"]
    assert "[one](how-to/ask.md#ask)" in changed
    assert f"[two]({docs.FORGE}/blob/main/Makefile)" in changed
    assert "`[four](code.md)` [five](https://x.test)" in changed
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# Home\n\n[gone](nowhere.md)\n", "utf-8")
    assert docs.build(tmp_path) != 0


def test_links_on_the_page_from_beside_the_code_hold() -> None:
    changed, missing = docs.with_links("[how](docs/how-to/ask.md)", "README.md", docs.pages())
    assert (changed, missing) == ("[how](how-to/ask.md)", [])
