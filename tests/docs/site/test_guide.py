"""The pages of the guide: their links, their commands, and that all are listed."""

from typing import Any

import click
import pytest
import yaml

from docs.site import checking, linking
from tests.commands import ROOT


def test_links_lead_to_the_place_in_the_site() -> None:
    origin = ROOT / "docs" / "method.md"
    text = "[a](limits.md#x) [b](../reports/trials/attacks.json) [c](../CHANGELOG.md) [d](https://x.org/y.md) [e](#f)"
    assert linking.relinked(ROOT, origin, text) == (
        "[a](limits.md#x) [b](reports/trials/attacks.json) [c](project/changelog.md) [d](https://x.org/y.md) [e](#f)"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("levelfield bake", "No such command"),
        ("levelfield bench --profil smoke", "No such option"),
        ("levelfield bench --seed many", "not a valid integer"),
    ],
)
def test_what_it_does_not_understand_is_refused(text: str, says: str) -> None:
    with pytest.raises(click.ClickException) as caught:
        checking.understand(text)
    assert says in caught.value.format_message()


GUIDE = {path.name for path in (ROOT / "docs").glob("*.md")}


def named(nav: Any) -> set[str]:
    if isinstance(nav, dict):
        return {name for each in nav.values() for name in named(each)}
    return {name for each in nav for name in named(each)} if isinstance(nav, list) else {nav}


def test_the_navigation_names_pages_that_are_there() -> None:
    """The build lists those that it does not name under `More`."""
    nav = named(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert {name for name in nav if "/" not in name} <= GUIDE


def test_every_page_is_on_the_page_of_pages() -> None:
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert not [name for name in GUIDE - {"README.md"} if f"]({name})" not in text], "list it in docs/README.md"
