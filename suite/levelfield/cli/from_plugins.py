"""Commands that installed distributions bring, and what stands in for one that is broken or not installed."""

import functools
from collections.abc import Mapping

import click

from levelfield import plugins
from levelfield.cli.help_sections import SectionedGroup
from levelfield.errors import LevelfieldError, printable
from levelfield.plugins import Broken, Plugin

DISTRIBUTIONS = {"import": "levelfield-readers"}
"""Commands that people know, and the distribution that brings each."""


class ToolGroup(SectionedGroup):
    """The `levelfield` command: a plug-in is imported where its command is typed or all commands are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands; those of plug-ins become part of the group."""
        own = set(self.commands) - commands().keys()
        for name, (_, loaded) in commands().items():
            if name not in own:
                self.commands[name] = _failing(name, loaded.sentence) if isinstance(loaded, Broken) else loaded
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or one that says what to install."""
        if cmd_name not in self.commands:
            self.list_commands(ctx)
        if cmd_name in DISTRIBUTIONS and cmd_name not in self.commands:
            distribution = DISTRIBUTIONS[cmd_name]
            message = f"The command {cmd_name} comes with {distribution}, which is not installed here."
            return _failing(cmd_name, message, f"pip install {distribution}")
        return super().get_command(ctx, cmd_name)


@functools.cache
def commands() -> Mapping[str, tuple[Plugin, click.Command | Broken]]:
    """Return the commands of plug-ins by name; of two with one name, that of the first distribution."""
    found: dict[str, tuple[Plugin, click.Command | Broken]] = {}
    for plugin in plugins.installed(plugins.COMMANDS):
        if plugin.name not in found:
            try:
                found[plugin.name] = plugin, plugins.load(plugin, click.Command)
            except plugins.PluginError as error:
                found[plugin.name] = plugin, Broken(plugin, str(error))
    return found


def broken() -> tuple[Broken, ...]:
    """Return the commands that cannot be used."""
    return tuple(loaded for _, loaded in commands().values() if isinstance(loaded, Broken))


def _failing(
    name: str, message: str, fix: str = "Uninstall that distribution, or install a version that works."
) -> click.Command:
    def fail() -> None:
        raise LevelfieldError(printable(message), fix=fix)

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=fail, help=message, add_help_option=False, context_settings=anything)
