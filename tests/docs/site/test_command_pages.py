"""The reference of the command line has every command and every option."""

import click

from docs.site import command_pages
from levelfield.cli.main import cli


def test_every_command_has_a_page_with_all_its_options() -> None:
    pages = dict(command_pages.pages())
    assert set(pages) == {f"reference/cli/{name}.md" for name in (*cli.commands, "index")}
    for name, command in cli.commands.items():
        text = pages[f"reference/cli/{name}.md"]
        assert text.startswith(f"# levelfield {name}\n")
        assert f"levelfield {name}]({name}.md)" in pages["reference/cli/index.md"].replace("`", "")
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.opts[0] in text


def test_commands_of_a_group_are_on_its_page() -> None:
    text = dict(command_pages.pages())["reference/cli/fleet.md"]
    assert "## levelfield fleet run" in text
    assert "--on" in text


def test_nothing_in_a_cell_ends_it_or_is_taken_for_markup() -> None:
    rows = [line for _, text in command_pages.pages() for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) > 100
    for row in rows:
        assert row.replace("\\|", "").count("|") == 3, row
        assert "<" not in row.replace("\\<", ""), row
