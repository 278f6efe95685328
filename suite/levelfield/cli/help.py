"""Help in sections; and commands that installed distributions bring, or that say which one to install."""

import functools
from collections.abc import Mapping, Sequence

import click

from levelfield import plugins
from levelfield.errors import LevelfieldError, printable
from levelfield.options import registry
from levelfield.options.registry import Option
from levelfield.plugins import Broken, Plugin, PluginError

COMMANDS: Mapping[str, Sequence[str]] = {
    "Measure": ("bench", "ab", "upgrade", "explain"),
    "Compare and follow runs": ("compare", "baseline", "reproduce", "history"),
    "Reports": ("report", "verify", "export", "publish"),
    "Machine and images": ("doctor", "list", "images", "plugins"),
}
"""Names of commands by section, each section in the order in which its commands are used."""
OTHER, PLUGINS = "Other", "From plug-ins"
"""The sections of what no section names: of options, and of commands."""

DISTRIBUTIONS = {"fleet": "levelfield-fleet", "import": "levelfield-readers"}
"""Commands that people know, and the distribution that brings each."""


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, rows in option_rows(self, ctx):
            with formatter.section(title):
                formatter.write_dl(rows)


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
        rows = {title: [] for title in registry.SECTIONS}
    order = list(registry.OPTIONS.values())
    for parameter in sorted(command.get_params(ctx), key=lambda one: order.index(one) if one in order else len(order)):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            title = parameter.section if rows and isinstance(parameter, Option) else OTHER if rows else "Options"
            rows.setdefault(title, []).append(record)
    return [(title, listed) for title, listed in rows.items() if listed]


class ToolGroup(click.Group):
    """The `levelfield` command: a plug-in is imported where its command is typed or all commands are listed."""

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

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands; those of plug-ins become part of the group."""
        for name, (_, command) in commands().items():
            self.commands.setdefault(name, command)
        for each in broken():
            self.commands.setdefault(each.plugin.name, _failing(each.plugin.name, each.sentence, "Uninstall it."))
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            self.list_commands(ctx)
        if cmd_name in DISTRIBUTIONS and cmd_name not in self.commands:
            distribution = DISTRIBUTIONS[cmd_name]
            message = f"The command {cmd_name} comes with {distribution}, which is not installed here."
            return _failing(
                cmd_name,
                message,
                f"In a checkout: pipx inject levelfield ./plugins/{distribution.removeprefix('levelfield-')}",
            )
        return super().get_command(ctx, cmd_name)


def commands() -> Mapping[str, tuple[Plugin, click.Command]]:
    """Return the commands of plug-ins by name, each with what brings it."""
    return _found()[0]


def broken() -> tuple[Broken, ...]:
    """Return the commands of plug-ins that cannot be used."""
    return _found()[1]


@functools.cache
def _found() -> tuple[dict[str, tuple[Plugin, click.Command]], tuple[Broken, ...]]:
    loaded: dict[str, tuple[Plugin, click.Command]] = {}
    failed: list[Broken] = []
    taken = {name: "a built-in command has this name" for names in COMMANDS.values() for name in names}
    for plugin in plugins.installed(plugins.COMMANDS):
        try:
            if plugin.name in taken:
                failed.append(Broken(plugin, taken[plugin.name]))
                continue
            loaded[plugin.name] = plugin, plugins.load(plugin, click.Command)
            taken[plugin.name] = f"{plugin.label} brings a command of this name"
        except PluginError as error:
            failed.append(Broken(plugin, str(error)))
    return loaded, tuple(failed)


def _failing(name: str, message: str, fix: str) -> click.Command:
    """Return a command that fails with a sentence, whatever is typed after it."""

    def fail() -> None:
        raise LevelfieldError(printable(message), fix=fix)

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=fail, help=message, add_help_option=False, context_settings=anything)
