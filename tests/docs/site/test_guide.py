"""The pages of the guide: their links, their commands, and that all are listed."""

from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from docs.site import checking, linking
from tests.commands import ROOT


def test_links_lead_to_the_place_in_the_site() -> None:
    origin = ROOT / "docs" / "method.md"
    text = "[a](limits.md#x) [b](../reports/trials/fuzz.json) [c](../CHANGELOG.md) [d](https://x.org/y.md) [e](#f)"
    assert linking.relinked(ROOT, origin, text) == (
        "[a](limits.md#x) [b](reports/trials/fuzz.json) [c](project/changelog.md) [d](https://x.org/y.md) [e](#f)"
    )


def test_links_of_files_elsewhere_are_relative_to_where_those_are() -> None:
    text = "[a](docs/method.md) [b](SECURITY.md) [c](LICENSE)"
    origin = ROOT / "CONTRIBUTING.md"
    assert linking.relinked(ROOT, origin, text) == "[a](../method.md) [b](reporting.md) [c](LICENSE.txt)"


def test_a_link_to_a_folder_leads_to_its_readme() -> None:
    assert linking.relinked(ROOT, ROOT / "docs" / "plugins.md", "[a](plugin-template)") == (
        "[a](plugin-template/README.md)"
    )


def test_a_broken_link_is_left_for_the_build_to_name() -> None:
    assert linking.relinked(ROOT, ROOT / "docs" / "method.md", "[a](nowhere.md)") == "[a](nowhere.md)"
    assert linking.relinked(ROOT, ROOT / "docs" / "method.md", "[a](../../etc)") == "[a](../../etc)"


def test_linked_files_are_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    assert linking.linked(tmp_path / "page.md", "[a](a.md) [b](b.md) [c](#x)") == {tmp_path / "a.md"}


def test_commands_are_found_in_both_kinds_of_blocks_and_without_what_is_said_beside_them() -> None:
    text = "levelfield in prose\n\n    levelfield list   # all\n    python x\n\n```\nmake test\n```\n    nox -l\n"
    assert checking.commands(text) == ["levelfield list", "make test", "nox -l"]


def test_what_the_tool_understands_passes_with_what_a_shell_does_to_its_output() -> None:
    checking.understand("levelfield bench --profile smoke --models mlp")
    checking.understand("levelfield list --json | jq .models")
    checking.understand("levelfield report RUN --sign ~/.ssh/id_ed25519")


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
