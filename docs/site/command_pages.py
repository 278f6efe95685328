"""The reference of the command line, made from the commands themselves."""

import inspect
import re
from collections.abc import Iterator

import click

from levelfield.cli import help as sections
from levelfield.cli.main import cli

FOLDER = "reference/cli"


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page as its path and its Markdown: one of all commands, and one for each command."""
    context = click.Context(cli, info_name="levelfield")
    lines = ["# Command line", "", _prose(cli.help)]
    for title, names in sections.sections_of(cli.list_commands(context)):
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
    for title, rows in sections.option_rows(command, context):
        yield from ("", f"| {title} | |", "|---|---|")
        yield from (f"| {_code(name)} | {_cell(text)} |" for name, text in rows)


def _prose(text: str | None) -> str:
    """Return a docstring as Markdown: paragraphs, with names of arguments as they are."""
    return inspect.cleandoc(text or "").replace("\b\n", "").replace("<", "\\<")


def _code(names: str) -> str:
    return f"`{names.replace('|', chr(92) + '|')}`"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "\\<").replace("[", "\\[")
