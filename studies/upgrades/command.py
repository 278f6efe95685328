"""What `levelfield ab` says where the truth is known, and what it says of released versions.

`nox -s trials` calls it. The same version is compared with itself, then with itself and a slowdown that the worker adds
to every call; then each locked version of ONNX Runtime and OpenVINO with the next one, over all models. It needs a
quiet machine for some hours; the record is written after every trial, and `--add` adds to it.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from studies import commands
from studies.ab import call, extended
from studies.record import existing, settings_of, write
from studies.upgrades.record import Kind, Record, Trial, findings, trial_of
from studies.upgrades.show import markdown
from suite.backends import registry
from suite.cli.options import DURATION, NAMES, PERCENT
from suite.compare.types import Gate
from suite.errors import LevelfieldError
from suite.images import catalogue
from suite.images.build import build
from suite.run.ab import AbResult

KINDS: tuple[Kind, ...] = ("same", "injected", "upgrade")


class Upgrade(NamedTuple):
    """One `ab` that is to be made."""

    kind: Kind
    old: str
    new: str
    inject: str


class TrialRequest(msgspec.Struct, frozen=True):
    """What to compare, and how."""

    kinds: tuple[str, ...]
    count: int
    arm: str
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    effect: str
    budget_seconds: float
    backends: tuple[str, ...]
    """Whose locked versions are compared."""
    upgrade_models: tuple[str, ...]
    """Empty: all."""
    upgrade_scenarios: tuple[str, ...]
    upgrade_budget_seconds: float
    profile: str
    margin: float


def planned(request: TrialRequest) -> Iterator[Upgrade]:
    """Return every trial in its order: nothing and slowdown in turn, so that both meet one machine; then upgrades."""
    known: tuple[tuple[Kind, str], ...] = (("same", ""), ("injected", request.effect))
    for _ in range(request.count):
        for kind, inject in known:
            if kind in request.kinds:
                yield Upgrade(kind, request.arm, request.arm, inject)
    if "upgrade" not in request.kinds:
        return
    for backend in request.backends:
        for old, new in itertools.pairwise(catalogue.versions(registry.get(backend).image)):
            yield Upgrade("upgrade", f"{backend}@{old}", f"{backend}@{new}", "")


def remaining(upgrades: Iterable[Upgrade], done: Iterable[Trial]) -> list[Upgrade]:
    """Return the trials that were not made yet.

    Parameters
    ----------
    upgrades : iterable of Upgrade
        All that are planned.
    done : iterable of Trial
        Those of the record.

    Returns
    -------
    list of Upgrade
        In the order of `upgrades`.
    """
    made = [Upgrade(trial.kind, trial.old, trial.new.partition("#")[0], trial.inject) for trial in done]
    left = []
    for each in upgrades:
        if each in made:
            made.remove(each)
        else:
            left.append(each)
    return left


def run(request: TrialRequest, out: Path, say: Callable[[str], None], *, add: bool) -> Record:
    """Make the trials; the record is written after each.

    Parameters
    ----------
    request : TrialRequest
        What to compare.
    out : Path
        File of the record.
    say : callable
        Prints a line of progress.
    add : bool
        Whether to add to a record that exists.

    Returns
    -------
    Record

    Raises
    ------
    LevelfieldError
        The record exists already, or was made with other settings or on another machine; or nothing could be
        measured.
    """
    gate, settings = Gate(margin=request.margin), settings_of(request, "count", "kinds", "backends")
    record = existing(out, Record, settings, add=add)
    todo = remaining(planned(request), record.trials if record else ())
    arms = [arm.partition("@") for each in todo for arm in (each.old, each.new)]
    # To make an image is no part of a trial's time.
    for image, version in dict.fromkeys((registry.get(name).image, version or None) for name, _, version in arms):
        build(image, "cpu", version, progress=say)
    for number, each in enumerate(todo, start=1):
        found, seconds = _measure(each, request, gate)
        trial = trial_of(each.kind, each.inject, found.comparison, seconds)
        trials = (*(record.trials if record else ()), trial)
        images = {image.tag: image for image in (*(record.images if record else ()), *found.run.images)}
        record = extended(
            record,
            Record,
            found.run,
            gate,
            settings,
            images=tuple(images.values()),
            trials=trials,
            findings=findings(trials),
        )
        write(record, out, markdown(record))
        rest = (len(todo) - number) * seconds / 60
        say(f"{each.kind} {number} of {len(todo)}, {seconds:.0f} s: {trial.answer} (about {rest:.0f} minutes left)")
    if record is None:
        raise LevelfieldError("No trial is selected.", fix="Select one at least with --only.")
    return record


def _measure(each: Upgrade, request: TrialRequest, gate: Gate) -> tuple[AbResult, float]:
    released = each.kind == "upgrade"
    second = f"{each.new}#2" if each.old == each.new else each.new
    return call(
        each.old,
        each.new,
        gate=gate,
        budget_seconds=request.upgrade_budget_seconds if released else request.budget_seconds,
        profile=request.profile,
        models=request.upgrade_models if released else request.models,
        scenarios=request.upgrade_scenarios if released else request.scenarios,
        inject=(each.inject, second) if each.inject else None,
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--only", "kinds", type=NAMES, default=KINDS, help="same, injected, upgrade.")
@click.option(
    "--trials", "count", type=click.IntRange(1), default=20, show_default=True, help="Of each: same and injected."
)
@click.option("--arm", default="onnxruntime", show_default=True, help="What is compared with itself.")
@click.option("--models", type=NAMES, default=("resnet50",), help="Models of these trials; default: resnet50.")
@click.option("--scenarios", type=NAMES, default=("latency",), help="Scenarios of these trials; default: latency.")
@click.option("--effect", default="5%", show_default=True, help="The slowdown that is added.")
@click.option(
    "--budget",
    "budget_seconds",
    type=DURATION,
    default="2m",
    show_default=True,
    help="Most time of one of these trials.",
)
@click.option("--backends", type=NAMES, default=("onnxruntime", "openvino"), help="Whose versions are compared.")
@click.option("--upgrade-models", type=NAMES, default=(), help="Models of the upgrades; default: all.")
@click.option("--upgrade-scenarios", type=NAMES, default=(), help="Scenarios of the upgrades; default: all.")
@click.option(
    "--upgrade-budget",
    "upgrade_budget_seconds",
    type=DURATION,
    default="12m",
    show_default=True,
    help="Most time of one upgrade.",
)
@click.option("--profile", default="standard", show_default=True)
@click.option("--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none.")
@commands.out_option
@commands.add_option
@click.option("--quick", is_flag=True, help="One trial each on the MLP, a smoke run: it shows that all works, no more.")
def main(out: Path | None, *, add: bool, quick: bool, **requested: object) -> None:
    """Count how often `ab` is wrong about nothing and finds a known slowdown; then try released versions."""
    if quick:
        mlp = ("mlp",)
        requested |= {"count": 1, "models": mlp, "upgrade_models": mlp, "upgrade_scenarios": ("latency",)}
        requested |= {"profile": "smoke"}
    with commands.terminal() as listener:
        out = out or commands.default_path("upgrades")
        record = run(msgspec.convert(requested, TrialRequest), out, listener.say, add=add)
        listener.show(markdown(record), out)
