"""`levelfield.toml`: defaults of options in a file, by the options' own names; and `levelfield config show`.

A key outside of a table is a default of every command that has such an option; a table is of one command, and wins:

    reports = "results"

    [bench]
    models = ["mlp", "bert"]
    budget = "20m"

What is typed wins over both.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from levelfield import terminals
from levelfield.errors import LevelfieldError, printable
from levelfield.names import unknown

FILE = "levelfield.toml"
"""Looked for in the current folder."""
VARIABLE = "LEVELFIELD_CONFIG"
"""Names another file; empty: no file is read."""
MOST_BYTES = 64 * 1024
NEVER = frozenset({"help", "version", "yes", "trust", "json", "resume", "dry-run"})
"""Options that a person says each time, or that belong to one call."""


class Config(msgspec.Struct, frozen=True):
    """A file of defaults that was read and checked."""

    path: Path
    values: dict[str, Any]
    """As click takes defaults: by command (of a group: by its commands) and by name of the parameter."""
    given: tuple[str, ...]
    """Keys of the file: `reports`, `bench.models`."""


def find() -> Path | None:
    """Return the file that counts here; None: there is none."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    return Path(FILE) if Path(FILE).is_file() else None


def read(path: Path, root: click.Group) -> Config:
    """Read a file of defaults.

    Raises LevelfieldError: it cannot be read, is no TOML, or names something that is no command or option, or may not
    be in a file.
    """
    content = _content(path)
    shared = {key: value for key, value in content.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    used: set[str] = set()
    values = _defaults(root, shared, tables, path, used)
    for key in shared:
        if key not in used:
            _refuse(key, path)
            raise _no_such(path, key, "command's option", sorted(_names_below(root)))
    given = (*shared, *(f"{name}.{key}" for name, table in tables.items() for key in _keys(table)))
    return Config(path, values, given)


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise LevelfieldError(
            f"The configuration {path} cannot be read: {error.strerror}.", fix=f"Name a file with {VARIABLE}."
        ) from error
    if len(content) > MOST_BYTES:
        raise LevelfieldError(f"The configuration {path} is larger than 64 KiB.", fix="It holds defaults of options.")
    try:
        return tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise LevelfieldError(f"The configuration {path} is no TOML: {error}.", fix="Correct that line.") from error


def _defaults(
    group: click.Group, shared: Mapping[str, Any], tables: Mapping[str, Any], path: Path, used: set[str]
) -> dict[str, Any]:
    for name in tables:
        if name not in group.commands:
            raise _no_such(path, name, "command", sorted(group.commands))
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        own = tables.get(name, {})
        if not isinstance(own, dict):
            raise LevelfieldError(f"In {path}, {name} is a command: write it as a table, [{name}].", fix="")
        if isinstance(command, click.Group):
            nested = {key: value for key, value in own.items() if isinstance(value, dict)}
            plain = {key: value for key, value in own.items() if not isinstance(value, dict)}
            found[name] = _defaults(command, {**shared, **plain}, nested, path, used)
            continue
        options = options_of(command)
        for key in own:
            _refuse(key, path)
            if key not in options:
                raise _no_such(path, key, f"option of {name}", sorted(options))
        both = {key: value for key, value in {**shared, **own}.items() if key in options}
        used.update(both)
        found[name] = {options[key].name: _typed(value, options[key], path) for key, value in both.items()}
    return found


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that a file may hold, by the name that is typed, without its dashes."""
    found = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            name = max(parameter.opts, key=len).removeprefix("--")
            if name not in NEVER:
                found[name] = parameter
    return found


def _typed(value: object, option: click.Option, path: Path) -> object:
    """Return a value as it would be typed: click parses it, with its own messages."""
    name = max(option.opts, key=len)
    if option.is_flag:
        if not isinstance(value, bool):
            raise LevelfieldError(f"In {path}, {name[2:]} is a switch.", fix="Write true or false.")
        return value
    if isinstance(value, list):
        words = [_word(each, name, path) for each in value]
        return words if option.multiple else ",".join(words)
    word = _word(value, name, path)
    return [word] if option.multiple else word


def _word(value: object, name: str, path: Path) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise LevelfieldError(
            f"In {path}, {name[2:]} has a value that cannot be typed after {name}.",
            fix="Write a text, a number or a list of them.",
        )
    return str(value)


def _refuse(key: str, path: Path) -> None:
    if key in NEVER:
        raise LevelfieldError(f"In {path}, {key} cannot be a default.", fix=f"Type --{key} where it is meant.")


def _no_such(path: Path, name: str, what: str, known: list[str]) -> LevelfieldError:
    error = unknown(what, name, known)
    return LevelfieldError(f"In {path}: {error.message}", fix=error.fix)


def _names_below(group: click.Group) -> set[str]:
    found: set[str] = set()
    for command in group.commands.values():
        found |= _names_below(command) if isinstance(command, click.Group) else options_of(command).keys()
    return found


def _keys(table: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"


def apply(context: click.Context) -> None:
    """Let the file that counts here give the defaults of a call, and say so on stderr.

    Raises LevelfieldError: as `read` does.
    """
    path = find()
    if path is None or not isinstance(context.command, click.Group):
        return
    context.command.list_commands(context)  # those of plug-ins too
    found = read(path, context.command)
    context.default_map = found.values
    context.obj = found
    called = context.command.commands.get(context.invoked_subcommand or "")
    own = list(dict.fromkeys(_set_in(called, found.values[called.name or ""]))) if called is not None else []
    if own:
        terminals.say(terminals.console(stderr=True), f"Defaults from {path}: {', '.join(own)}.", "dim")


def _set_in(command: click.Command, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that a file sets, of a command or of all commands of a group."""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _set_in(below, values.get(name, {}))
    else:
        yield from (name for name, option in options_of(command).items() if option.name in values)


@click.group(hidden=True)
def config() -> None:
    """Show the defaults of options, and where they come from."""


@config.command()
@click.argument("command", nargs=-1, required=True, metavar="COMMAND…")
@click.pass_context
def show(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the value of every option of COMMAND, and where it comes from.

    Values come from levelfield.toml in the current folder, or from the file that LEVELFIELD_CONFIG names; the others
    are defaults of Levelfield.
    """
    root = context.find_root()
    target: click.Command = root.command
    target.list_commands(root) if isinstance(target, click.Group) else ()
    defaults: Any = root.default_map or {}
    for word in command:
        if not isinstance(target, click.Group) or word not in target.commands:
            known = sorted(target.commands) if isinstance(target, click.Group) else []
            raise unknown("command", word, known)
        target, defaults = target.commands[word], defaults.get(word, {})
    if isinstance(target, click.Group):
        raise LevelfieldError(
            f"{' '.join(command)} has commands of its own.",
            fix=f"Name one of them: {', '.join(sorted(target.commands))}.",
        )
    file = context.find_object(Config)
    table = Table("option", "value", "from", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    with click.Context(target) as own:
        for name, option in options_of(target).items():
            given = option.name in defaults
            value = defaults[option.name] if given else option.get_default(own)
            table.add_row(f"--{name}", _shown(value), str(file.path) if given and file else "default")
    terminals.console().print(table, markup=False)


def _shown(value: object) -> str:
    if value is None or value == ():
        return "not set"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return printable(str(value).lower() if isinstance(value, bool) else str(value))
