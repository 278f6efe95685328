"""Loads over those of the library, round by round, as numbers and as Markdown."""

from collections.abc import Callable, Iterator

import msgspec

from studies.estimates import Estimate, geometric_mean
from studies.loading.record import LIBRARY, Cell, Finding, Load, Trial
from suite.report.markdown import table

GOAL = 1.2
"""Most that a load may take over the library's own."""


def analyse(trial: Trial) -> Trial:
    """Return a record with its findings."""
    return msgspec.structs.replace(trial, findings=tuple(each for cell in trial.cells for each in _findings(cell)))


def _findings(cell: Cell) -> Iterator[Finding]:
    counted = {(each.round, each.arm): each for each in cell.loads if each.round}
    library = {number: each for (number, arm), each in counted.items() if arm == LIBRARY}
    for arm in sorted({arm for _, arm in counted} - {LIBRARY}):
        pairs = [(counted[number, arm], each) for number, each in library.items() if (number, arm) in counted]
        if pairs:
            yield Finding(
                family=cell.family,
                arm=arm,
                rounds=len(pairs),
                library_ns=geometric_mean([theirs.load_ns for _, theirs in pairs]).value,
                load=_ratio(pairs, lambda each: each.load_ns),
                checked=_ratio(pairs, lambda each: each.check_ns + each.load_ns),
                called=_ratio(pairs, lambda each: each.check_ns + each.load_ns + each.first_call_ns),
            )


def _ratio(pairs: list[tuple[Load, Load]], value: Callable[[Load], int]) -> Estimate:
    return geometric_mean([value(ours) / value(theirs) for ours, theirs in pairs])


def markdown(trial: Trial) -> str:
    """Return the table and what is needed to read it."""
    return "\n".join(_lines(trial))


def _lines(trial: Trial) -> Iterator[str]:
    yield (
        "Loading weights of a folder, over `from_pretrained` of the transformers library on the same folder: each in a "
        "new process, in random order in each round, frameworks imported before. Geometric means over rounds; in "
        "brackets their 95 % t intervals.\n"
    )
    yield from table(
        ("network", "arm", "rounds:", "from_pretrained:", "load:", "with the digest:", "with the first call:"),
        (
            (
                each.family,
                each.arm,
                str(each.rounds),
                f"{each.library_ns / 1e6:.0f} ms",
                *(found.written() for found in (each.load, each.checked, each.called)),
            )
            for each in trial.findings
        ),
    )
    yield ""
    for each in trial.findings:
        high = each.load.high
        shown = high is not None and high <= GOAL
        yield f"- {each.family} on {each.arm}: a load is {'' if shown else 'not '}shown to take {GOAL:g} × or less."
    yield ""
    for cell in trial.cells:
        yield (
            f"{cell.family}: {cell.parameters / 1e6:.1f} million parameters. Copying the weights into the cache took "
            f"{cell.keep_ns / 1e9:.1f} s, once for all arms and runs; it is in no ratio.\n"
        )
    yield (
        "*Load*: from the weights to a network that can be called. *Digest*: every launch computes the SHA-256 of its "
        "weights, which the library does not. All files were in the page cache. "
        f"Seed {trial.seed}; load average {trial.load_before[0]:.1f} before, {trial.load_after[0]:.1f} after. Started "
        f"{trial.started}.\n"
    )
