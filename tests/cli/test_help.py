"""Help lists every command and every option in a section; a name that something had earlier leads to its new one."""

import click
import pytest

from levelfield.cli import help as sections
from levelfield.cli.main import cli
from levelfield.options import registry


def test_every_command_is_listed_once_and_sections_name_none_that_is_not_there() -> None:
    assert {name for names in sections.COMMANDS.values() for name in names} <= set(cli.commands)
    text = cli.get_help(click.Context(cli))
    shown = [name for name, command in cli.commands.items() if not command.hidden]
    assert len(shown) <= 18
    assert all(text.count(f"\n  {name} ") == 1 for name in shown)
    assert "\nAlso: completion, config, schema." in text


@pytest.mark.parametrize("name", ["bench", "ab"])
def test_every_option_is_listed_once_the_most_used_first(name: str) -> None:
    command = cli.commands[name]
    text = command.get_help(click.Context(command))
    shown = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    assert len(shown) <= 32
    assert all(text.count(f"\n  {option.opts[0]} ") == 1 for option in shown)
    ((first, basic), *_) = sections.option_rows(command, click.Context(command))
    assert (first, len(basic)) == (registry.BASIC, 10 if name == "bench" else 9)


def test_what_no_section_names_is_listed_at_the_end() -> None:
    assert [title for title, _ in sections.sections_of(["brew", "bench"])] == ["Measure", sections.PLUGINS]
