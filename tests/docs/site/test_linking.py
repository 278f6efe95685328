"""Links to files outside of docs/ lead to where these are in the site."""

from pathlib import Path

from docs.site import linking
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
