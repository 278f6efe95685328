"""Commands that installed distributions bring, and what stands in for one that is broken or not installed."""

import functools
from collections.abc import Mapping

import click

from levelfield import plugins
from levelfield.cli.help import COMMANDS, SectionedGroup
from levelfield.errors import LevelfieldError, printable
from levelfield.plugins import Broken, Plugin, PluginError

DISTRIBUTIONS = {"fleet": "levelfield-fleet", "import": "levelfield-readers"}
"""Commands that people know, and the distribution that brings each."""


class ToolGroup(SectionedGroup):
    """The `levelfield` command: a plug-in is imported where its command is typed or all commands are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands; those of plug-ins become part of the group."""
        for name, (_, command) in commands().items():
            self.commands.setdefault(name, command)
        for each in broken():
            self.commands.setdefault(each.plugin.name, _failing(each.plugin.name, each.sentence, "Uninstall it."))
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or one that says what to install."""
        if cmd_name not in self.commands:
            self.list_commands(ctx)
        if cmd_name in DISTRIBUTIONS and cmd_name not in self.commands:
            distribution = DISTRIBUTIONS[cmd_name]
            message = f"The command {cmd_name} comes with {distribution}, which is not installed here."
            return _failing(
                cmd_name, message, f"In a checkout: pip install ./plugins/{distribution.removeprefix('levelfield-')}"
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
