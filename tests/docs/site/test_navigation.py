"""Every page of docs/ is in the site's navigation and on the page that lists them all."""

from typing import Any

import yaml

from tests.commands import ROOT

PAGES = {path.name for path in (ROOT / "docs").glob("*.md")}


def named(nav: Any) -> set[str]:
    if isinstance(nav, dict):
        return {name for each in nav.values() for name in named(each)}
    return {name for each in nav for name in named(each)} if isinstance(nav, list) else {nav}


def test_every_page_is_in_the_navigation() -> None:
    nav = named(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert not PAGES - nav, "name it under nav in mkdocs.yml"
    assert {name for name in nav if "/" not in name} <= PAGES


def test_every_page_is_on_the_page_of_pages() -> None:
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert not [name for name in PAGES - {"README.md"} if f"]({name})" not in text], "list it in docs/README.md"
