"""`levelfield.toml`: defaults of options in a file, by the options' own names; and `levelfield config show`.

A key outside of a table is a default of every command that has such an option; a table is of one command, and wins:

    reports = "results"

    [bench]
    models = ["mlp", "bert"]
    budget = "20m"

What is typed wins over both.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from levelfield import terminals, untrusted
from levelfield.errors import LevelfieldError, printable
from levelfield.names import unknown

FILE = "levelfield.toml"
"""Looked for in the current folder."""
MAX_BYTES = 1 << 20
NEVER = frozenset({"help", "version", "yes", "trust", "json", "resume", "dry-run"})
"""Options that a person says each time, or that belong to one call."""


def apply(context: click.Context) -> None:
    """Let the file in the current folder give the defaults of a call, and say so on stderr.

    Raises LevelfieldError: as `read` does.
    """
    path = Path(FILE)
    if not path.is_file() or not isinstance(context.command, click.Group):
        return
    context.command.list_commands(context)  # those of plug-ins too
    context.default_map = read(path, context.command)
    if _sets_something(context.default_map.get(context.invoked_subcommand or "", {})):
        terminals.say(terminals.console(stderr=True), f"Defaults from {path}.", "dim")


def _sets_something(values: Mapping[str, Any]) -> bool:
    return any(_sets_something(value) if isinstance(value, dict) else True for value in values.values())


def read(path: Path, root: click.Group) -> dict[str, Any]:
    """Read a file of defaults, as click takes them: by command (of a group: by its commands) and parameter.

    Raises LevelfieldError: it cannot be read, is no TOML, or names something that is no command or option, or may not
    be in a file.
    """
    try:
        content = untrusted.read_toml(path, MAX_BYTES)
    except OSError as error:
        raise LevelfieldError(f"{path} cannot be read: {error.strerror}.", fix="Correct or remove it.") from error
    except ValueError as error:
        raise LevelfieldError(f"{path} is no TOML: {error}.", fix="Correct that line.") from error
    known = _names_below(root)
    for key, value in content.items():
        if not isinstance(value, dict) and key not in known:
            raise _no_such(path, key, "command's option", sorted(known))
    return _defaults(root, content, path)


def _defaults(group: click.Group, content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    shared = {key: value for key, value in content.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for name in tables:
        if name not in group.commands:
            raise _no_such(path, name, "command", sorted(group.commands))
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        own = {**shared, **tables.get(name, {})}
        if isinstance(command, click.Group):
            found[name] = _defaults(command, own, path)
            continue
        options = options_of(command)
        for key in tables.get(name, {}):
            if key not in options:
                raise _no_such(path, key, f"option of {name}", sorted(options))
        found[name] = {options[key].name: _typed(own[key], options[key], path) for key in own if key in options}
    return found


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that a file may hold, by the name that is typed, without its dashes."""
    options = (parameter for parameter in command.params if isinstance(parameter, click.Option))
    named = {max(option.opts, key=len).removeprefix("--"): option for option in options}
    return {name: option for name, option in named.items() if name not in NEVER}


def _typed(value: object, option: click.Option, path: Path) -> object:
    """Return a value as it would be typed: click parses it, with its own messages."""
    if option.is_flag and isinstance(value, bool):
        return value
    words = value if isinstance(value, list) else [value]
    if option.is_flag or not all(isinstance(word, str | int | float) and str(word) for word in words):
        raise LevelfieldError(
            f"In {path}, {option.opts[0]} cannot have the value {value!r}.",
            fix="Write true or false for a switch; else a text, a number or a list of them.",
        )
    return list(map(str, words)) if option.multiple else ",".join(map(str, words))


def _no_such(path: Path, name: str, what: str, known: list[str]) -> LevelfieldError:
    error = unknown(what, name, known)
    return LevelfieldError(f"In {path}: {error.message}", fix=error.fix)


def _names_below(group: click.Group) -> set[str]:
    found: set[str] = set()
    for command in group.commands.values():
        found |= _names_below(command) if isinstance(command, click.Group) else options_of(command).keys()
    return found


@click.group(hidden=True)
def config() -> None:
    """Show the defaults of options, and where they come from."""


@config.command()
@click.argument("command", nargs=-1, required=True, metavar="COMMAND…")
@click.pass_context
def show(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the value of every option of COMMAND, and where it comes from.

    Values come from levelfield.toml in the current folder; the others are defaults of Levelfield.
    """
    root = context.find_root()
    target: click.Command = root.command
    target.list_commands(root) if isinstance(target, click.Group) else ()  # those of plug-ins too
    defaults: Any = root.default_map or {}
    for word in command:
        known = target.commands if isinstance(target, click.Group) else {}
        if word not in known:
            raise unknown("command", word, sorted(known))
        target, defaults = known[word], defaults.get(word, {})
    if isinstance(target, click.Group):
        raise LevelfieldError(
            f"{' '.join(command)} has commands of its own.",
            fix=f"Name one of them: {', '.join(sorted(target.commands))}.",
        )
    table = Table("option", "value", "from", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name, option in options_of(target).items():
        given = option.name in defaults
        value = defaults[option.name] if given else option.to_info_dict()["default"]
        table.add_row(f"--{name}", _shown(value), FILE if given else "default")
    terminals.console().print(table, markup=False)


def _shown(value: object) -> str:
    if value is None or value == ():
        return "not set"
    if isinstance(value, list | tuple):
        return printable(", ".join(map(str, value)))
    return printable(str(value).lower() if isinstance(value, bool) else str(value))
