"""What `levelfield ab` says where the truth is known, and what it says of released versions.

`nox -s trials` calls it. The same version is held against itself, then against itself with a slowdown that the worker
adds to every call; then each locked version of ONNX Runtime and OpenVINO against the next one, over all models. It
wants a quiet machine for some hours; the record is written after every trial, and `--add` goes on with it.
"""

import datetime as dt
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from suite import __version__
from suite.backends import registry
from suite.cli.options import DURATION, NAMES, PERCENT
from suite.compare.types import Gate
from suite.errors import LevelfieldError
from suite.images import catalogue
from suite.images.build import build
from suite.machine.fingerprint import fingerprint
from suite.plan import Selection
from suite.record.files import write_atomically
from suite.run.ab import AbResult, measure, target
from suite.run.bench import Options
from suite.run.calibration import same_machine
from suite.run.start import Request
from suite.safety import terminals
from suite.trials.upgrades import record as records
from suite.trials.upgrades.record import SCHEMA, Kind, Record, Trial
from suite.trials.upgrades.show import markdown, show

KINDS: tuple[Kind, ...] = ("same", "injected", "upgrade")


class Upgrade(msgspec.Struct, frozen=True):
    """One `ab` that is to be made."""

    kind: Kind
    old: str
    new: str
    inject: str
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    budget_seconds: float


class TrialRequest(msgspec.Struct, frozen=True):
    """What the trial was asked for."""

    kinds: tuple[str, ...]
    count: int
    arm: str
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    effect: str
    budget_seconds: float
    backends: tuple[str, ...]
    """Whose locked versions are held against one another."""
    upgrade_models: tuple[str, ...]
    """Empty: all."""
    upgrade_scenarios: tuple[str, ...]
    upgrade_budget_seconds: float
    profile: str
    margin: float


def wanted(asked: TrialRequest) -> Iterator[Upgrade]:
    """Return every trial in its order: nothing and slowdown in turn, so that both meet one machine; then upgrades."""
    for _ in range(asked.count):
        for kind, inject in (("same", ""), ("injected", asked.effect)):
            if kind in asked.kinds:
                yield Upgrade(
                    kind="same" if kind == "same" else "injected",
                    old=asked.arm,
                    new=asked.arm,
                    inject=inject,
                    models=asked.models,
                    scenarios=asked.scenarios,
                    budget_seconds=asked.budget_seconds,
                )
    if "upgrade" not in asked.kinds:
        return
    for backend in asked.backends:
        versions = catalogue.versions(registry.get(backend).image)
        for old, new in itertools.pairwise(versions):
            yield Upgrade(
                kind="upgrade",
                old=f"{backend}@{old}",
                new=f"{backend}@{new}",
                inject="",
                models=asked.upgrade_models,
                scenarios=asked.upgrade_scenarios,
                budget_seconds=asked.upgrade_budget_seconds,
            )


def left(todo: Iterator[Upgrade], done: tuple[Trial, ...]) -> list[Upgrade]:
    """Return the trials that were not made yet."""
    made = [(trial.kind, trial.old, trial.new.partition("#")[0], trial.inject) for trial in done]
    remaining = []
    for each in todo:
        key = (each.kind, each.old, each.new, each.inject)
        if key in made:
            made.remove(key)
        else:
            remaining.append(each)
    return remaining


def run(asked: TrialRequest, out: Path, say: Callable[[str], None], *, add: bool) -> Record:
    """Make the trials; the record is written after each.

    Raises
    ------
    LevelfieldError
        The record is there already, or was made with other settings or on another machine; or nothing could be
        measured.
    """
    gate = Gate(margin=asked.margin)
    before = _before(asked, out, add=add)
    todo = left(wanted(asked), before.trials if before else ())
    record = before
    for image, version in _images(todo):
        build(image, "cpu", version, progress=say)
    for number, each in enumerate(todo, start=1):
        found, seconds = _measure(each, asked, gate)
        trial = records.trial_of(each.kind, each.inject, found.comparison, seconds)
        record = _with(record, trial, found, asked, gate)
        records.write(record, out)
        write_atomically(out.with_suffix(".md"), markdown(record).encode())
        rest = (len(todo) - number) * seconds / 60
        say(f"{each.kind} {number} of {len(todo)}, {seconds:.0f} s: {trial.answer} (about {rest:.0f} minutes left)")
    if record is None:
        raise LevelfieldError("Nothing was asked for.", fix="Ask for one trial at least.")
    return record


def _images(todo: list[Upgrade]) -> list[tuple[str, str | None]]:
    """Return every image and version that is needed: making one is no part of a trial's time."""
    arms = [arm.partition("@") for each in todo for arm in (each.old, each.new)]
    return list(dict.fromkeys((registry.get(name).image, version or None) for name, _, version in arms))


def _measure(each: Upgrade, asked: TrialRequest, gate: Gate) -> tuple[AbResult, float]:
    reports = Path(tempfile.mkdtemp(prefix="levelfield-upgrades-"))
    second = f"{each.new}#2" if each.old == each.new else each.new
    options = Options(
        selection=Selection(
            profile=asked.profile,
            models=each.models,
            scenarios=each.scenarios,
            control="none",
            inject=(each.inject, second) if each.inject else None,
        ),
        request=Request(
            budget_seconds=each.budget_seconds,
            precision_target=target(None, asked.margin, asked.profile),
            margin=asked.margin,
        ),
        reports=reports,
        launcher="docker",
    )
    began = time.monotonic()
    try:
        found = measure(each.old, each.new, options, gate, Console(quiet=True))
    finally:
        shutil.rmtree(reports, ignore_errors=True)
    return found, time.monotonic() - began


def _with(record: Record | None, trial: Trial, found: AbResult, asked: TrialRequest, gate: Gate) -> Record:
    if record is None:
        record = Record(
            schema=SCHEMA,
            started=found.run.started,
            updated="",
            tool_version=__version__,
            settings=_settings(asked),
            gate=gate,
            machine=found.run.machine,
            images=(),
        )
    images = {image.tag: image for image in (*record.images, *found.run.images)}
    trials = (*record.trials, trial)
    return msgspec.structs.replace(
        record,
        updated=found.run.finished or found.run.started,
        images=tuple(images.values()),
        trials=trials,
        findings=records.findings(trials),
    )


def _before(asked: TrialRequest, out: Path, *, add: bool) -> Record | None:
    if not out.exists():
        return None
    if not add:
        raise LevelfieldError(f"{out} is there already.", fix="Go on with it (--add), or name another file with --out.")
    before = records.read(out)
    if before.settings != _settings(asked):
        raise LevelfieldError(
            f"{out} was made with other settings.", fix="Give the same options, or begin another file with --out."
        )
    if not same_machine(before.machine, fingerprint(tuple(sorted(os.sched_getaffinity(0))))):
        raise LevelfieldError(f"{out} was made on another machine.", fix="Begin another file with --out.")
    return before


def _settings(asked: TrialRequest) -> dict[str, str]:
    """Return what the trials of one record have in common; how many there are is not among it."""
    plain = msgspec.to_builtins(asked)
    return {name: str(value) for name, value in plain.items() if name not in ("count", "kinds", "backends")}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", type=NAMES, default=KINDS, help="same, injected, upgrade.")
@click.option("--trials", type=click.IntRange(1), default=20, show_default=True, help="Of each: same and injected.")
@click.option("--arm", default="onnxruntime", show_default=True, help="What is held against itself.")
@click.option("--models", type=NAMES, default=("resnet50",), help="Models of these trials; default: resnet50.")
@click.option("--scenarios", type=NAMES, default=("latency",), help="Scenarios of these trials; default: latency.")
@click.option("--effect", default="5%", show_default=True, help="The slowdown that is added.")
@click.option("--budget", type=DURATION, default="2m", show_default=True, help="Most time of one of these trials.")
@click.option("--backends", type=NAMES, default=("onnxruntime", "openvino"), help="Whose versions are compared.")
@click.option("--upgrade-models", type=NAMES, default=(), help="Models of the upgrades; default: all.")
@click.option("--upgrade-scenarios", type=NAMES, default=(), help="Scenarios of the upgrades; default: all.")
@click.option("--upgrade-budget", type=DURATION, default="12m", show_default=True, help="Most time of one upgrade.")
@click.option("--profile", default="standard", show_default=True)
@click.option("--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Record; default: under reports/trials/.")
@click.option("--add", is_flag=True, help="Go on with the record that --out names.")
@click.option("--quick", is_flag=True, help="One trial each on the MLP, a smoke run: it shows that all works, no more.")
def main(
    only: tuple[str, ...],
    trials: int,
    arm: str,
    models: tuple[str, ...],
    scenarios: tuple[str, ...],
    effect: str,
    budget: float,
    backends: tuple[str, ...],
    upgrade_models: tuple[str, ...],
    upgrade_scenarios: tuple[str, ...],
    upgrade_budget: float,
    profile: str,
    margin: float,
    out: Path | None,
    add: bool,
    quick: bool,
) -> None:
    """Count how often `ab` is wrong about nothing and finds a known slowdown; then try released versions."""
    console = terminals.console()
    if quick:
        trials, models, upgrade_models, upgrade_scenarios = 1, ("mlp",), ("mlp",), ("latency",)
        profile = "smoke"
    out = out if out is not None else Path("reports/trials") / f"upgrades-{dt.datetime.now(dt.UTC):%Y-%m-%d}.json"
    asked = TrialRequest(
        kinds=only,
        count=trials,
        arm=arm,
        models=models,
        scenarios=scenarios,
        effect=effect,
        budget_seconds=budget,
        backends=backends,
        upgrade_models=upgrade_models,
        upgrade_scenarios=upgrade_scenarios,
        upgrade_budget_seconds=upgrade_budget,
        profile=profile,
        margin=margin,
    )

    def say(text: str) -> None:
        console.print(f"[dim]{escape(text)}[/]", highlight=False)

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        show(run(asked, out, say, add=add), console)
    except (LevelfieldError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        sys.exit(2)
    console.print(f"Record: {escape(str(out))}", highlight=False, soft_wrap=True)
