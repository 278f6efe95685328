"""How exchangeable runs are: from records of the same thing over days, how often a comparison is a false alarm.

`nox -s exchange -- RUNS` calls it. It measures nothing: it reads run records, finds which of them measured the same
thing on the same machine, estimates how far runs and sessions (days) lie apart, and draws comparisons in lumps and in
turns from them (`studies.exchange.draws`). What is missing for an answer is said.
"""

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import click
import msgspec
import numpy as np

from studies import commands, record
from studies.exchange.draws import Runs, Spread, Tally, expected, lumps, sessions, spread, tally, turns
from suite.cli.options import DURATION
from suite.compare.effects import MIN_RUNS
from suite.compare.reduction import Reduced
from suite.compare.sides import load
from suite.compare.types import Gate
from suite.errors import LevelfieldError
from suite.history.environment import arm_group
from suite.record import files
from suite.report import units
from suite.schedule.outcomes import utc_now
from suite.version import __version__

NO_RESULT = frozenset({"smoke", "injected", "emulated", "demonstration"})
"""Labels of runs that are no results."""
FEW_PAIRS = 10
"""Pairs of sessions below which a share of false changes is reported as one of these days alone."""


class RunOfGroup(msgspec.Struct, frozen=True):
    """One run."""

    id: str
    started: str
    sha256: str
    """Of its record."""
    session: int


class Group(msgspec.Struct, frozen=True):
    """Runs on one machine, launched alike."""

    machine: str
    launcher: str
    runs: tuple[RunOfGroup, ...]
    """In the order of time."""
    results: tuple[str, ...]
    """What two of them or more measured: arm, case, and what tells one version and question from another."""
    spread: Spread
    in_lumps: Tally | None
    in_turns: Tally | None
    expected_in_lumps: float | None
    """Simulated share of cases that are called changed, with normal noise of the estimated spreads."""
    expected_in_turns: float | None
    missing: tuple[str, ...]
    """Why something above is not known."""


class Record(record.Record, frozen=True, kw_only=True):
    """What the trial found, and how comparisons were drawn."""

    TRIAL: ClassVar = "exchange"

    updated: str
    tool_version: str
    runs_a_side: int
    gap_seconds: float
    """A pause between runs from which a new session begins."""
    draws: int
    """Comparisons drawn from a pair of sessions, and in turns."""
    seed: int
    groups: tuple[Group, ...] = ()


class _Dated(NamedTuple):
    seconds: float
    """When it started, since 1970."""
    run: Reduced


def study(runs: Sequence[Reduced], **settings: Any) -> Record:  # noqa: ANN401  (fields of any type)
    """Study runs: those of one machine and launcher together.

    Parameters
    ----------
    runs : sequence of Reduced
        Runs of any machines.
    **settings
        Fields of `Record`: runs a side, gap, draws and seed.

    Returns
    -------
    Record

    Raises
    ------
    LevelfieldError
        None of them is a result.
    """
    machines: dict[tuple[str, str], list[_Dated]] = {}
    for run in runs:
        seconds = _seconds(run)
        if NO_RESULT.isdisjoint(run.facts.labels) and seconds is not None:
            hardware = msgspec.json.encode(sorted(run.hardware.items())).decode()
            machines.setdefault((hardware, run.launcher), []).append(_Dated(seconds, run))
    if not machines:
        raise LevelfieldError("There is no run here that is a result.", fix="Name runs that are no smoke runs.")
    found = Record(schema=Record.SCHEMA, updated=utc_now(), tool_version=__version__, **settings)
    return msgspec.structs.replace(found, groups=tuple(_group(members, found) for members in machines.values()))


def _group(members: list[_Dated], settings: Record) -> Group:
    dated = sorted(members, key=lambda each: each.seconds)
    ordered = [each.run for each in dated]
    numbers = sessions([each.seconds for each in dated], settings.gap_seconds)
    costs = [dict(_costs(run)) for run in ordered]
    counted = Counter(name for each in costs for name in each)
    results = tuple(name for name, count in counted.items() if count > 1)
    table = np.log([[each.get(name, math.nan) for name in results] for each in costs])
    runs = Runs(numbers, table.reshape(len(ordered), len(results)))
    found, gate, a_side = spread(runs), Gate(), settings.runs_a_side
    rng = np.random.default_rng(settings.seed)
    in_lumps = tally(runs, lumps(runs, a_side, settings.draws, rng), gate)
    in_turns = tally(runs, turns(runs, a_side, settings.draws, rng), gate)
    shares = expected(found, a_side, gate, rng) or (None, None)
    return Group(
        machine=_machine(ordered[0]),
        launcher=ordered[0].launcher,
        runs=tuple(
            RunOfGroup(run.facts.id, run.facts.started, run.facts.sha256, number)
            for run, number in zip(ordered, numbers, strict=True)
        ),
        results=results,
        spread=found,
        in_lumps=in_lumps,
        in_turns=in_turns,
        expected_in_lumps=shares[0],
        expected_in_turns=shares[1],
        missing=tuple(_missing(found, in_lumps, in_turns, a_side)),
    )


def _missing(found: Spread, in_lumps: Tally | None, in_turns: Tally | None, count: int) -> Iterator[str]:
    if not found.cases:
        yield "no result was measured by two of them: nothing can be said of how far runs lie apart"
        return
    if found.run_sd is None:
        yield "no session has two runs of a result: runs and sessions cannot be told apart"
    if found.sessions < 2:
        yield "there is one session: how far days lie apart is not known"
    if in_lumps is None:
        yield f"no two sessions have {count} runs each: comparisons in lumps cannot be drawn"
    elif in_lumps.session_pairs < FEW_PAIRS:
        yield (
            f"{units.plural(in_lumps.session_pairs, 'pair')} of sessions: the share of false changes is of these days, "
            "and says little of others"
        )
    if in_turns is None:
        yield f"there are fewer than {count} pairs of neighbours: comparisons in turns cannot be drawn"


def _machine(run: Reduced) -> str:
    names = ("cpu model", "cpu family", "cpu model number", "memory")
    return "{} (family {}, model {}), {}".format(*(run.hardware.get(name, "") for name in names))


def _seconds(run: Reduced) -> float | None:
    try:
        return dt.datetime.fromisoformat(run.facts.started).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _costs(run: Reduced) -> Iterator[tuple[str, float]]:
    """Yield every cost that counts, by what was measured: another version or another question has another name."""
    for (arm, case), answer in run.answers.items():
        if answer.cost is None or answer.standing not in ("ranked", "shown"):
            continue
        version = run.environment.get(arm_group(arm), {}).get("version", "")
        digests = sorted(answer.inputs | answer.weights | answer.onnx | answer.images | answer.target)
        question = " ".join(digest[:8] for digest in digests)
        yield f"{arm}/{case} {version} {question}".strip(), answer.cost


def markdown(record: Record) -> str:
    """Return what was found as Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield f"# How exchangeable runs are, {record.updated[:10]}"
    yield ""
    yield (
        f"Comparisons have {record.runs_a_side} runs a side and are judged as `levelfield compare` does, at its false "
        f"discovery rate of {100 * Gate().q:.0f} %. Nothing differs between the sides, so every change that is called "
        f"is false. A session ends where no run begins for {record.gap_seconds / 3600:.3g} hours."
    )
    for group in record.groups:
        yield ""
        yield f"## {group.machine}, {group.launcher}"
        yield ""
        yield from (f"- {line}" for line in _of_group(group))


def _of_group(group: Group) -> Iterator[str]:
    found = group.spread
    yield (
        f"{units.plural(found.runs, 'run')} in {units.plural(found.sessions, 'session')}, "
        f"from {group.runs[0].started} to {group.runs[-1].started}; "
        f"{units.plural(found.cases, 'result')} measured twice or more."
    )
    if found.run_sd is not None:
        yield f"Runs of one session scatter by {100 * found.run_sd:.2g} % (standard deviation, all results together)."
    if found.session_sd is not None:
        yield f"Sessions lie apart by {100 * found.session_sd:.2g} % (standard deviation) beyond that."
    for name, drawn in (("two sessions", group.in_lumps), ("neighbours in time", group.in_turns)):
        if drawn is not None:
            yield (
                f"Comparisons of {name}: {drawn.with_change} of {drawn.comparisons} drawn call some case changed, "
                f"{drawn.changed} of {drawn.rows} rows."
            )
    if group.expected_in_lumps is not None and group.expected_in_turns is not None:
        yield (
            f"With normal noise of these sizes, {100 * group.expected_in_lumps:.1f} % of cases are called changed in "
            f"lumps and {100 * group.expected_in_turns:.1f} % in turns (simulated)."
        )
    if group.missing:
        yield f"Missing: {'; '.join(group.missing)}."


def read(folders: Sequence[Path], say: Callable[[str], None]) -> list[Reduced]:
    """Read run records, one run once; what cannot be read is reported and left out.

    Parameters
    ----------
    folders : sequence of Path
        Records, folders of runs, or folders that hold these.
    say : callable
        Prints a line.

    Returns
    -------
    list of Reduced

    Raises
    ------
    LevelfieldError
        There is none.
    """
    found: dict[str, Reduced] = {}
    for folder in folders:
        single = folder.is_file() or (folder / files.NAME).is_file()
        for file in map(files.file_of, [folder] if single else files.runs_in(folder)):
            try:
                run = load(file)
            except (LevelfieldError, OSError) as error:
                say(f"{file} is left out: {error}")
                continue
            found.setdefault(run.facts.id, run)
    if not found:
        raise LevelfieldError("There is no run that can be read.", fix="Name run folders, or a folder of them.")
    return list(found.values())


@click.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--runs-a-side", type=click.IntRange(MIN_RUNS, 50), default=MIN_RUNS, show_default=True)
@click.option(
    "--gap", "gap_seconds", type=DURATION, default="6h", show_default=True, help="A pause that ends a session."
)
@click.option("--draws", type=click.IntRange(1, 10_000), default=200, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=None, help="Write the record here too.")
def main(runs: tuple[Path, ...], out: Path | None, **settings: Any) -> None:  # noqa: ANN401
    """Estimate from RUNS of the same thing over days how often a comparison would call a change that is none."""
    with commands.terminal() as listener:
        found = study(read(runs or (Path("reports"),), listener.say), **settings)
        if out is not None:
            record.write(found, out, markdown(found))
        listener.show(markdown(found), out)
