"""`levelfield lock --check`: what is outdated or withdrawn in locks, for people and as JSON."""

from collections.abc import Sequence

from rich.console import Console

from levelfield.cli.answers.locked import CheckedLocks
from levelfield.cli.answers.printing import print_json
from levelfield.images import lock_check
from levelfield.images.base import CheckedBase, check
from levelfield.images.lock_check import Checked, Outdated
from levelfield.record.references import parse
from levelfield.report.units import plural
from levelfield.safety import terminals

FOUND, NO_ANSWER = 1, 2
"""Exit codes: something is outdated or withdrawn; the package index gave no answer."""


def run(names: Sequence[str], *, as_json: bool) -> int:
    """Check locks, and print what was found.

    Raises LevelfieldError: as in `images.lock_check.check`.
    """
    progress = terminals.console(stderr=True)

    def say(text: str) -> None:
        terminals.say(progress, text, "dim")

    found = lock_check.check((parse(name) for name in names), progress=say)
    bases = () if names else check(progress=say)
    code = _exit_code(found)
    console = terminals.console(stderr=as_json)
    _show(found, console)
    for base in bases:
        _show_base(base, console)
    if as_json:
        print_json(CheckedLocks(1, code, found, bases))
    return code


def _exit_code(found: Sequence[Checked]) -> int:
    if any(each.outdated or each.withdrawn for each in found):
        return FOUND
    return NO_ANSWER if any(each.problem for each in found) else 0


def _show(found: Sequence[Checked], console: Console) -> None:
    for each in found:
        lines = [(_problem(each.problem), "yellow")] if each.problem else []
        lines += [(f"{one.name} {one.locked}: {one.reason}", "red") for one in each.withdrawn]
        lines += [(_outdated(one), "") for one in each.outdated or ()]
        if lines:
            terminals.say(console, f"{each.image} {each.lock}, Python {each.python}", "bold")
        for text, style in lines:
            terminals.say(console, f"  {text}", style or None)
    outdated = sum(len(each.outdated or ()) for each in found)
    withdrawn = sum(len(each.withdrawn) for each in found)
    terminals.say(console, f"{len(found)} locks: {outdated} outdated distributions, {withdrawn} withdrawn.")


def _show_base(base: CheckedBase, console: Console) -> None:
    terminals.say(
        console, f"Debian {base.release} {base.architecture}, locked {plural(base.age_days, 'day')} ago", "bold"
    )
    for names, said in (
        (base.archived, "no longer at mirrors, and fetched from Debian's archive of all files"),
        (base.unknown, "not known, since a mirror does not answer"),
    ):
        if names:
            terminals.say(console, f"  {plural(len(names), 'package')} {said}: {', '.join(names)}", "yellow")
    if not (base.archived or base.unknown):
        terminals.say(console, "  all packages are at mirrors")


def _problem(text: str) -> str:
    return " ".join(text.split())


def _outdated(one: Outdated) -> str:
    where = f" (images/{one.pinned_in} asks for {one.locked})" if one.pinned_in else ""
    return f"{one.name} {one.locked} → {one.newest}{where}"
