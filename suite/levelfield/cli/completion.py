"""What a shell completes: commands, options, and names of models, backends, versions and runs.

click asks for completions through the environment (`_LEVELFIELD_COMPLETE`), with a script for each shell. Bash splits
words at `@` and `=` too (COMP_WORDBREAKS), so its script here asks for whole words and gives back their ends; that for
fish splits replies at their first comma only, since names are separated by commas.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    add_completion_class,
    get_completion_class,
)

from levelfield import scenarios
from levelfield.errors import LevelfieldError
from levelfield.options.registry import COMPLETERS

_Choices: TypeAlias = Callable[[click.Context, str], Iterable[str]]
"""What may be typed, by the context of the command and what is typed of a name."""
_Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""What click asks."""
VARIABLE = "_LEVELFIELD_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
"""What is offered: names may come from a stranger's folder, and a shell may evaluate what it puts on its line."""
_ZSH_MARK = "# levelfield completion"


class _Bash(BashComplete):
    """Completion in bash of words that hold `@` or `=`."""

    source_template = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" reply type value
    local -a words=($line)
    local word="" count=${#words[@]}
    [[ $line == *[[:space:]] ]] || { word="${words[-1]}"; count=$((count - 1)); }
    local before="${word%%"${word##*[@=:]}"}"
    reply=$(env COMP_WORDS="$line" COMP_CWORD="$count" %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain) COMPREPLY+=("${value#"$before"}") ;;
        esac
    done <<<"$reply"
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    @staticmethod
    def _check_version() -> None:
        """Ask no bash for its version: `complete -o nosort` says itself what it does not know."""


class _Fish(FishComplete):
    """Completion in fish of values that hold commas."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


add_completion_class(_Bash, "bash")
add_completion_class(_Fish, "fish")


def _models(_context: click.Context, _typed: str) -> Iterable[str]:
    from levelfield.zoo import models as zoo

    return zoo.names()


def _profiles(_context: click.Context, _typed: str) -> Iterable[str]:
    from levelfield.plan.profiles import PROFILES

    return PROFILES


def _runs(context: click.Context, _typed: str) -> Iterable[str]:
    """Return the ids of runs in the folder of reports, the newest first."""
    from levelfield.record import files, page

    reports = Path(context.params.get("reports") or "reports")
    kept = (page.NAME, files.NAME, files.JOURNAL)
    found = {path.parent.name for name in kept for path in reports.glob(f"*/{name}")}
    return sorted(found, reverse=True)


def _images(_context: click.Context, _typed: str) -> Iterable[str]:
    from levelfield.images import catalogue

    return catalogue.images()


def _arms(_context: click.Context, typed: str) -> Iterator[str]:
    """Yield every backend; and its versions where one backend is typed to its end."""
    from levelfield.backends import registry
    from levelfield.images import catalogue

    backend, at, _ = typed.partition("@")
    for name in registry.all_names():
        if not at:
            yield name
        elif name == backend:
            yield from (f"{name}@{version}" for version in catalogue.versions(registry.get(name).image))


def _beginning(typed: str, names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if name.startswith(typed) and _PLAIN.fullmatch(name))


def _one(choices: _Choices) -> _Completer:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(choice) for choice in _beginning(incomplete, choices(ctx, incomplete))]

    return complete


def _several(choices: _Choices) -> _Completer:
    """Return what completes the last name of a list; those that stand in it already are left out."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        taken = before.split(",")
        left = (choice for choice in _beginning(last, choices(ctx, last)) if choice not in taken)
        return [CompletionItem(f"{before}{comma}{choice}") for choice in left]

    return complete


arm, runs, images = _one(_arms), _one(_runs), _one(_images)
"""For arguments that take one name each."""
COMPLETERS.update(
    models=_several(_models),
    backends=_several(_arms),
    scenarios=_several(lambda *_: scenarios.NAMES),
    profile=_one(_profiles),
    resume=runs,
)


def script(shell: str) -> str:
    """Return the script that makes a shell complete the command."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(click.Group("levelfield"), {}, "levelfield", VARIABLE).source()


def install(shell: str) -> Sequence[Path]:
    """Write the script where the shell looks for it; zsh is told in its .zshrc.

    Raises LevelfieldError: a file cannot be written.
    """
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    configuration = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    file = {
        "bash": data / "bash-completion" / "completions" / "levelfield",
        "zsh": data / "levelfield" / "completion.zsh",
        "fish": configuration / "fish" / "completions" / "levelfield.fish",
    }[shell]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script(shell), encoding="utf-8")
        return (file, *_source_in_zsh(file)) if shell == "zsh" else (file,)
    except OSError as error:
        raise LevelfieldError(
            f"{error.filename or file} cannot be written: {error.strerror}.",
            fix=f"`levelfield completion {shell}` prints the script, to be put where you like.",
        ) from error


def _source_in_zsh(file: Path) -> Iterator[Path]:
    """Add the lines that read the script to .zshrc, unless they are there."""
    startup = Path(os.environ.get("ZDOTDIR") or "~").expanduser() / ".zshrc"
    text = startup.read_text(encoding="utf-8") if startup.is_file() else ""
    if _ZSH_MARK not in text:
        with startup.open("a", encoding="utf-8") as added:
            added.write(
                f"\n{_ZSH_MARK}\n(( $+functions[compdef] )) || {{ autoload -Uz compinit; compinit }}\nsource '{file}'\n"
            )
        yield startup


@click.command(hidden=True)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--install", "wanted", is_flag=True, help="Write the script to where the shell looks for it.")
def completion(shell: str | None, *, wanted: bool) -> None:
    """Print or install the script that makes SHELL complete this command.

    It completes commands, options, and names of models, backends, versions, scenarios and runs. Default: the shell
    that $SHELL names.
    """
    named = shell or Path(os.environ.get("SHELL", "")).name
    if named not in SHELLS:
        raise LevelfieldError(f"There is no completion for the shell {named!r}.", fix=f"Name one: {', '.join(SHELLS)}.")
    if not wanted:
        print(script(named))
        return
    for file in install(named):
        print(f"Written: {file}")
    print("It is in effect in the next shell that you start.")
