"""The reference of the command line, made from the commands themselves."""

import inspect
import re
from collections.abc import Iterator

import click

from levelfield.cli import help_sections
from levelfield.cli.main import cli

FOLDER = "reference/cli"


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page as its path and its Markdown: one of all commands, and one for each command."""
    context = click.Context(cli, info_name="levelfield")
    lines = ["# Command line", "", _prose(cli.help)]
    names_of_all = cli.list_commands(context)
    for title, names in help_sections.sections_of(help_sections.COMMANDS, names_of_all, help_sections.PLUGINS):
        lines += ["", f"| {title} | |", "|---|---|"]
        for name in names:
            command = cli.commands[name]
            lines.append(f"| [`levelfield {name}`]({name}.md) | {_cell(command.get_short_help_str(200))} |")
            yield f"{FOLDER}/{name}.md", "\n".join(_command(command, click.Context(command, context, name), "#"))
    lines += _options(cli, context)
    yield f"{FOLDER}/index.md", "\n".join(lines)


def _command(command: click.Command, context: click.Context, mark: str) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from (f"{mark} {context.command_path}", "", "```text", usage, "```", "", _prose(command.help), "")
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            inner = command.commands[name]
            yield ""
            yield from _command(inner, click.Context(inner, context, name), f"{mark}#")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = {each.name or "": each.get_help_record(context) for each in command.get_params(context)}
    rows = {
        name: record for name, record in records.items() if record is not None and record[1]
    }  # arguments may have none
    sectioned = isinstance(command, help_sections.SectionedCommand)
    sections = help_sections.sections_of(help_sections.OPTIONS, list(rows)) if sectioned else [("option", list(rows))]
    for title, names in sections:
        if names:
            yield from ("", f"| {title} | |", "|---|---|")
            yield from (f"| {_code(rows[name][0])} | {_cell(rows[name][1])} |" for name in names)


def _prose(text: str | None) -> str:
    """Return a docstring as Markdown: paragraphs, with names of arguments as they are."""
    return inspect.cleandoc(text or "").replace("\b\n", "").replace("<", "\\<")


def _code(names: str) -> str:
    return f"`{names.replace('|', chr(92) + '|')}`"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "\\<").replace("[", "\\[")
