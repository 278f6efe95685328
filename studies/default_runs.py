"""What default runs at different hours find: their ratios, one after the other, in one record.

nox -f studies/noxfile.py -s default_runs -- reports/RUN …
"""

import math
import statistics
from datetime import datetime
from pathlib import Path

import click
import msgspec

from levelfield.analysis import analyse
from levelfield.analysis.types import TimedBlock
from levelfield.record import files
from levelfield.record.schema import Absent, Run
from levelfield.report import sentences
from levelfield.report.sentences import Relation
from studies import commands

RECORD = Path(__file__).resolve().parents[1] / "reports" / "trials" / "default-runs.json"


class Ratio(msgspec.Struct, frozen=True):
    """An arm's ratio to the best, as a logarithm, with the half width of its simultaneous 95 % interval."""

    arm: str
    value: float
    half_width: float


class CaseSeen(msgspec.Struct, frozen=True):
    """What a run said of a case."""

    title: str
    model: str
    launches: int
    """Of the arm that has the fewest."""
    first: tuple[str, ...]
    """The best arm, and those that are not separated from it."""
    ratios: tuple[Ratio, ...]
    """The smallest first."""


class Seen(msgspec.Struct, frozen=True):
    """What a run said."""

    id: str
    started: str
    seconds: float
    machine: str
    calm: float | None
    """Share of probes in the low mode; None: there were no probes."""
    cases: tuple[CaseSeen, ...]


def seen(run: Run) -> Seen:
    """Return what a run that was measured to its end says; raises ValueError for another."""
    if run.finished is None or run.settings.profile != "standard":
        raise ValueError(f"{run.id} is no default run that was measured to its end.")
    analysis = analyse(run)
    states = analysis.states
    return Seen(
        id=run.id,
        started=run.started,
        seconds=(datetime.fromisoformat(run.finished) - datetime.fromisoformat(run.started)).total_seconds(),
        machine=str(run.machine.get("cpu", {}).get("model", "not known")),
        calm=None if states is None or isinstance(states, Absent) else states.low_share,
        cases=tuple(map(_case, analysis.timed)),
    )


def _case(block: TimedBlock) -> CaseSeen:
    ratios = [
        Ratio(row.arm, math.log(row.ratio.value), row.half_width)
        for row in block.rows
        if row.ratio is not None and row.half_width is not None and row.arm != block.best
    ]
    tied = (row.arm for row in block.rows if sentences.relation(row) in (Relation.EQUAL, Relation.NOT_SEPARATED))
    return CaseSeen(
        title=sentences.title(block.case),
        model=block.case.model,
        launches=min((row.launches for row in block.rows), default=0),
        first=() if block.best is None else tuple(dict.fromkeys((block.best, *tied))),
        ratios=tuple(sorted(ratios, key=lambda ratio: ratio.value)),
    )


def read() -> list[Seen]:
    """Return the runs of the record, in the order of time."""
    return msgspec.json.decode(RECORD.read_bytes(), type=list[Seen]) if RECORD.is_file() else []


def held(runs: list[Seen]) -> tuple[int, int]:
    """Return how many intervals hold the mean of the ratios of other runs on that processor, and how many there are.

    The mean's own error is not counted, so that a little fewer than 95 % are expected of intervals of one ratio, and
    more of those that hold for all arms of a case at once.
    """
    values: dict[tuple[str, str, str, str], list[Ratio]] = {}
    for run in runs:
        for case in run.cases:
            for ratio in case.ratios:
                values.setdefault((run.machine, case.title, case.first[0], ratio.arm), []).append(ratio)
    inside = [
        abs(one.value - statistics.fmean(other.value for other in (*alike[:at], *alike[at + 1 :]))) <= one.half_width
        for alike in values.values()
        if len(alike) > 1
        for at, one in enumerate(alike)
    ]
    return sum(inside), len(inside)


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def main(folders: tuple[Path, ...]) -> None:
    """Add runs to the record, each by its folder."""
    runs = {run.id: run for run in [*read(), *(seen(files.read(folder)) for folder in folders)]}
    ordered = sorted(runs.values(), key=lambda run: run.started)
    commands.write(ordered, RECORD)
    print(f"{len(ordered)} runs; {RECORD.name} has them.")


if __name__ == "__main__":
    main()
