"""The references of the record, the command line and Python have all that is there."""

import json
import pkgutil
import re

import click

from docs.site import command_pages, python_pages, record_pages
from levelfield.cli.main import cli
from levelfield.record import schema

PAGES = dict(record_pages.pages())
TEXT = PAGES["reference/record.md"]


def test_every_type_of_the_schema_has_a_section_with_its_fields() -> None:
    defined = json.loads(PAGES["reference/run.schema.json"])["$defs"]
    assert len(defined) > 20
    for name, what in defined.items():
        if what.get("type") != "object" or not hasattr(schema, name):
            continue
        section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
        assert section is not None, name
        for field in what["properties"]:
            assert f"| `{field}` |" in section[1] or field == "type", f"{name}.{field}"


def test_a_field_has_its_type_its_default_and_its_description() -> None:
    assert "| `threads` | int | required | Of every process. |" in TEXT
    assert "| `device` | str | `cpu` |  |" in TEXT


def test_nothing_in_a_cell_ends_it() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert not [row for row in rows if row.replace("\\|", "").count("|") != 5]


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


def test_every_page_names_what_can_be_imported() -> None:
    pages = dict(python_pages.pages())
    assert set(pages) == {f"reference/python/{name}.md" for name in (*python_pages.PACKAGES, "index")}
    named = [name for text in pages.values() for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]
    assert "levelfield.statistics.student" in named
    assert {"levelfield.load", "levelfield.record.files"} <= set(named)
    for name in named:
        pkgutil.resolve_name(name)
