"""`levelfield lock --check`: what is outdated, withdrawn or vulnerable in locks, for people and as JSON."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from suite.cli.answers.locked import CheckedLocks
from suite.cli.answers.printing import print_json
from suite.images import lock_check
from suite.images.lock_check import Checked, Outdated, Vulnerable
from suite.record.references import parse
from suite.safety import terminals

FOUND, NO_ANSWER = 1, 2
"""Exit codes: something is outdated, withdrawn or vulnerable; the package index gave no answer."""


def run(names: Sequence[str], advisory_file: Path | None, *, as_json: bool) -> int:
    """Check locks, and print what was found.

    Parameters
    ----------
    names
        Images, as they were typed; none: all of them.
    advisory_file
        A file in the OSV format; None: vulnerabilities are not looked for.
    as_json
        Print JSON to stdout, and all else to stderr.

    Returns
    -------
    int
        Exit code.

    Raises
    ------
    LevelfieldError
        As in `suite.images.lock_check.check`.
    """
    progress = terminals.console(stderr=True)
    found = lock_check.check(
        (parse(name) for name in names), advisory_file, progress=lambda text: terminals.say(progress, text, "dim")
    )
    code = _exit_code(found)
    _show(found, terminals.console(stderr=as_json), searched=advisory_file is not None)
    if as_json:
        print_json(CheckedLocks(1, code, found))
    return code


def _exit_code(found: Sequence[Checked]) -> int:
    if any(each.outdated or each.withdrawn or each.vulnerable for each in found):
        return FOUND
    return NO_ANSWER if any(each.problem for each in found) else 0


def _show(found: Sequence[Checked], console: Console, *, searched: bool) -> None:
    for each in found:
        lines = [(_problem(each.problem), "yellow")] if each.problem else []
        lines += [(f"{one.name} {one.locked}: {one.reason}", "red") for one in each.withdrawn]
        lines += [(_vulnerable(one), "red") for one in each.vulnerable or ()]
        lines += [(_outdated(one), "") for one in each.outdated or ()]
        if lines:
            terminals.say(console, f"{each.image} {each.lock}, Python {each.python}", "bold")
        for text, style in lines:
            terminals.say(console, f"  {text}", style or None)
    outdated = sum(len(each.outdated or ()) for each in found)
    vulnerable = sum(len(each.vulnerable or ()) for each in found)
    withdrawn = sum(len(each.withdrawn) for each in found)
    said = f"{len(found)} locks: {outdated} outdated distributions, {withdrawn} withdrawn"
    said += f", {vulnerable} known vulnerabilities." if searched else "."
    terminals.say(console, said)
    if not searched:
        terminals.say(console, "Vulnerabilities were not looked for: name a file in the OSV format with --advisories.")


def _problem(text: str) -> str:
    return " ".join(text.split())


def _outdated(one: Outdated) -> str:
    where = f" (images/{one.pinned_in} asks for {one.locked})" if one.pinned_in else ""
    return f"{one.name} {one.locked} → {one.newest}{where}"


def _vulnerable(one: Vulnerable) -> str:
    other = f" ({', '.join(one.aliases)})" if one.aliases else ""
    fixed = f"fixed in {', '.join(one.fixed_in)}" if one.fixed_in else "no fixed version is named"
    summary = f": {' '.join(one.summary.split())}" if one.summary else ""
    return f"{one.name} {one.locked} has {one.advisory}{other}, {fixed}{summary}"
