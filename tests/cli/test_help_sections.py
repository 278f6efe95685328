"""Help lists every command and every option in a section, and leaves none out."""

import click
import pytest

from levelfield.cli import help_sections
from levelfield.cli.main import cli


def test_every_command_is_listed_once_and_sections_name_none_that_is_not_there() -> None:
    assert {name for names in help_sections.COMMANDS.values() for name in names} <= set(cli.commands)
    text = cli.get_help(click.Context(cli))
    for title in help_sections.COMMANDS:
        assert f"\n{title}:\n" in text
    for name in cli.commands:
        assert text.count(f"\n  {name} ") == 1


def test_sections_name_no_option_that_is_not_there() -> None:
    there = {option.name for name in ("bench", "ab") for option in cli.commands[name].params}
    assert {name for names in help_sections.OPTIONS.values() for name in names} <= there


@pytest.mark.parametrize("name", ["bench", "ab"])
def test_every_option_is_listed_once(name: str) -> None:
    command = cli.commands[name]
    text = command.get_help(click.Context(command))
    for option in command.params:
        if isinstance(option, click.Option):
            assert text.count(f"\n  {option.opts[0]} ") == 1, option.opts


def test_what_no_section_names_is_listed_at_the_end() -> None:
    group = help_sections.SectionedGroup("x")
    group.add_command(click.Command("bench", help="Measure."))
    group.add_command(click.Command("brew", help="Make coffee."))
    text = group.get_help(click.Context(group))
    assert text.index("Measure:") < text.index("bench") < text.index(f"{help_sections.PLUGINS}:") < text.index("brew")
