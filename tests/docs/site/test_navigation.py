"""Every page of docs/ is on the page that lists them all, and the site's navigation names pages that are there."""

from typing import Any

import yaml

from tests.commands import ROOT

PAGES = {path.name for path in (ROOT / "docs").glob("*.md")}


def named(nav: Any) -> set[str]:
    if isinstance(nav, dict):
        return {name for each in nav.values() for name in named(each)}
    return {name for each in nav for name in named(each)} if isinstance(nav, list) else {nav}


def test_the_navigation_names_pages_that_are_there() -> None:
    """The build lists those that it does not name under `More`."""
    nav = named(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert {name for name in nav if "/" not in name} <= PAGES


def test_every_page_is_on_the_page_of_pages() -> None:
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert not [name for name in PAGES - {"README.md"} if f"]({name})" not in text], "list it in docs/README.md"
