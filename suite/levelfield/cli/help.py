"""Help in sections, and sentences on commands and options that are called otherwise now."""

from collections.abc import Mapping, Sequence

import click

from levelfield import options
from levelfield.errors import LevelfieldError
from levelfield.options import Option

COMMANDS: Mapping[str, Sequence[str]] = {
    "Measure": ("bench", "ab", "upgrade", "explain"),
    "Compare and follow runs": ("compare", "baseline", "reproduce", "history"),
    "Reports": ("report", "verify", "export", "publish"),
    "Machine and images": ("doctor", "list", "images", "plugins"),
}
"""Names of commands by section, each section in the order in which its commands are used."""
OTHER, PLUGINS = "Other", "From plug-ins"
"""The sections of what no section names: of options, and of commands."""
MOVED: Mapping[str, str] = {
    **{name: f"images {name}" for name in ("build", "lock", "push", "bundle", "clean")},
    "unbundle": "images load",
    "contract": "plugins check",
    "card": "report RUN --card FOLDER",
    "--module": "--model FILE.py:FUNCTION",
    "--weights": "--model FOLDER",
    "--dim": "--input NAME=SIZE",
    "--data-items": "--data SET:N=PATH",
    "--latency-target": "--loadgen latency=50ms",
    "--loadgen-test": "--loadgen test=10m",
    "--sign": "levelfield report RUN --sign KEY afterwards",
}
"""Earlier spellings of commands and options, and what to type now."""


class SectionedGroup(click.Group):
    """A group whose help lists its commands in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, section by section; those that are hidden in one line."""
        commands = {name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))}
        shown = [name for name, command in commands.items() if not command.hidden]
        limit = formatter.width - 6 - max(map(len, commands))
        for title, names in sections_of(shown):
            with formatter.section(title):
                formatter.write_dl([(name, commands[name].get_short_help_str(limit)) for name in names])
        formatter.write_paragraph()
        formatter.write_text(f"Also: {', '.join(name for name in commands if name not in shown)}.")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called.

        Raises LevelfieldError: it has another name now.
        """
        _refuse_moved(args[0])
        return super().resolve_command(ctx, args)


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        for title, rows in option_rows(self, ctx):
            with formatter.section(title):
                formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what was typed.

        Raises LevelfieldError: an option has another name now.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            _refuse_moved(error.option_name)
            raise


def _refuse_moved(name: str) -> None:
    if name in MOVED:
        raise LevelfieldError(f"There is no {name} any more.", fix=f"Type {MOVED[name]}.")


def sections_of(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return each section of commands with those of its names that are there; what is in none comes last."""
    placed = {name for listed in COMMANDS.values() for name in listed}
    sections = [(title, [name for name in listed if name in names]) for title, listed in COMMANDS.items()]
    sections.append((PLUGINS, [name for name in names if name not in placed]))
    return [(title, listed) for title, listed in sections if listed]


def option_rows(command: click.Command, ctx: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return each section of a command's options with their names and help; of other commands all in one."""
    rows: dict[str, list[tuple[str, str]]] = {}
    if isinstance(command, SectionedCommand):
        rows = {title: [] for title in options.SECTIONS}
    order = list(options.OPTIONS.values())
    for parameter in sorted(command.get_params(ctx), key=lambda one: order.index(one) if one in order else len(order)):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            title = parameter.section if rows and isinstance(parameter, Option) else OTHER if rows else "Options"
            rows.setdefault(title, []).append(record)
    return [(title, listed) for title, listed in rows.items() if listed]
