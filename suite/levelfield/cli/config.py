"""`levelfield.toml`: defaults of options in a file, by the options' own names; and `levelfield config show`.

A key outside of a table is a default of every command that has such an option; a table is of one command, and wins:

    reports = "results"

    [bench]
    models = ["mlp", "bert"]
    budget = "20m"

What is typed wins over both. The folder may be a stranger's: the file sets only options that are declared for it
(`options.registry.Option.in_file`), and names no path outside of its folder.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from levelfield import terminals, untrusted
from levelfield.errors import LevelfieldError, printable
from levelfield.names import unknown
from levelfield.options.registry import Option

FILE = "levelfield.toml"
"""Looked for in the current folder."""
MAX_BYTES = 1 << 20


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

    Raises LevelfieldError: it cannot be read, is no TOML, names something that is no command or option, or sets an
    option that no file may set.
    """
    try:
        content = untrusted.read_toml(path, MAX_BYTES)
    except OSError as error:
        raise LevelfieldError(f"{path} cannot be read: {error.strerror}.", fix="Correct or remove it.") from error
    except ValueError as error:
        raise LevelfieldError(f"{path} is no TOML: {error}.", fix="Correct that line.") from error
    _check(root, content, path, ())
    return _defaults(root, content, path)


def _check(command: click.Command, content: Mapping[str, Any], path: Path, called: Sequence[str]) -> None:
    """Refuse what a file names that is no command or option, and options that no file may set."""
    commands = command.commands if isinstance(command, click.Group) else {}
    known: dict[str, bool] = {}
    for name, option in _options_below(command):
        known[name] = known.get(name, False) or may_be_in_a_file(option)
    for key, value in content.items():
        if isinstance(value, dict) and isinstance(command, click.Group):
            if key not in commands:
                raise _no_such(path, key, "command", sorted(commands))
            _check(commands[key], value, path, (*called, key))
        elif key not in known:
            settable = sorted(name for name, allowed in known.items() if allowed)
            raise _no_such(path, key, f"option of {' '.join(called)}" if called else "command's option", settable)
        elif not known[key]:
            raise LevelfieldError(
                f"{path} may not set --{key}{' of ' if called else ''}{' '.join(called)}: a file says what is "
                "measured, and not what is trusted, read, written or allowed.",
                fix="Remove it from the file, and type it.",
            )


def _options_below(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _options_below(each)
    else:
        yield from options_of(command).items()


def _defaults(group: click.Group, content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    shared = {key: value for key, value in content.items() if not isinstance(value, dict)}
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        own = {**shared, **(content[name] if isinstance(content.get(name), dict) else {})}
        if isinstance(command, click.Group):
            found[name] = _defaults(command, own, path)
            continue
        options = {key: option for key, option in options_of(command).items() if may_be_in_a_file(option)}
        found[name] = {options[key].name: _typed(own[key], options[key], path) for key in own if key in options}
    return found


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command, by the name that is typed, without its dashes."""
    options = (parameter for parameter in command.params if isinstance(parameter, click.Option))
    return {max(option.opts, key=len).removeprefix("--"): option for option in options}


def may_be_in_a_file(option: click.Option) -> bool:
    """Return whether a file may set an option: only one that is declared so."""
    return isinstance(option, Option) and option.in_file


def _typed(value: object, option: click.Option, path: Path) -> object:
    """Return a value as it would be typed: click parses it, with its own messages."""
    words = value if isinstance(value, list) else [value]
    if not all(isinstance(word, str | int | float) and not isinstance(word, bool) and str(word) for word in words):
        raise LevelfieldError(
            f"In {path}, {option.opts[0]} cannot have the value {value!r}.",
            fix="Write a text, a number or a list of them.",
        )
    if isinstance(option.type, click.Path) and not all(_is_below(str(word), path.parent) for word in words):
        raise LevelfieldError(
            f"In {path}, {option.opts[0]} names {value!r}, which is not below that folder.",
            fix=f"Name a folder below it, or type {option.opts[0]}.",
        )
    return list(map(str, words)) if option.multiple else ",".join(map(str, words))


def _is_below(named: str, folder: Path) -> bool:
    return "\0" not in named and Path(os.path.realpath(folder / named)).is_relative_to(os.path.realpath(folder))


def _no_such(path: Path, name: str, what: str, known: list[str]) -> LevelfieldError:
    error = unknown(what, name, known)
    return LevelfieldError(f"In {path}: {error.message}", fix=error.fix)


@click.group(hidden=True)
def config() -> None:
    """Show the defaults of options, and where they come from."""


@config.command()
@click.argument("command", nargs=-1, required=True, metavar="COMMAND…")
@click.pass_context
def show(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the value of every option of COMMAND, and where it comes from.

    Values come from levelfield.toml in the current folder; the others are defaults of Levelfield. "Default, typed
    only": that file may not set it, since it is not about what is measured.
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
        source = "default" if may_be_in_a_file(option) else "default, typed only"
        table.add_row(f"--{name}", _shown(value), FILE if given else source)
    terminals.console().print(table, markup=False)


def _shown(value: object) -> str:
    if value is None or value == ():
        return "not set"
    if isinstance(value, list | tuple):
        return printable(", ".join(map(str, value)))
    return printable(str(value).lower() if isinstance(value, bool) else str(value))
