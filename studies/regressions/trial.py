"""Run `levelfield ab` on the frozen pairs, with its own budget, and keep what it says."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from rich.console import Console

from levelfield.compare.types import Gate
from levelfield.errors import LevelfieldError
from levelfield.images.build import build
from levelfield.images.wheels import Progress
from levelfield.launchers.docker import DockerLauncher, connect
from levelfield.machine.fingerprint import fingerprint, machine_sha256
from levelfield.options.values import DURATION, NAMES, PERCENT
from levelfield.plan import EXPORTER, Selection
from levelfield.prepare.artifacts import Artifacts
from levelfield.prepare.own_model import store
from levelfield.record.schema import Run
from levelfield.run.ab import AbResult, measure
from levelfield.run.options import Options
from levelfield.version import __version__
from levelfield.zoo import inputs, models
from studies import commands
from studies.commands import read, write
from studies.regressions import pairs, workloads
from studies.regressions.pairs import Frozen, FrozenList, Pair
from studies.regressions.record import Record, markdown, outcome_of, summary


class TrialRequest(msgspec.Struct, frozen=True):
    """How `ab` is called."""

    budget_seconds: float | None
    """None: its own default."""
    margin: float
    profile: str


def run(
    frozen: FrozenList, request: TrialRequest, out: Path, say: Callable[[str], None], before: Record | None
) -> Record:
    """Compare every frozen pair; the record is written after each."""
    known = {each.name: each for each in pairs.read()}
    unknown = [each.name for each in frozen.pair if each.name not in known]
    if unknown:
        raise LevelfieldError(f"The frozen pair {unknown[0]} is not in the list of pairs.")
    record = before
    done = {each.pair.name for each in record.outcomes} if record else set()
    todo = [(known[each.name], each) for each in frozen.pair if each.name not in done]
    pairs.install(pair for pair, _ in todo)
    # To make an image is no part of a comparison's time.
    for image, version in pairs.required(pair for pair, _ in todo):
        build(image, "cpu", version, progress=say)
    gate, settings = Gate(margin=request.margin), settings_of(request)
    for number, (pair, each) in enumerate(todo, start=1):
        found, seconds = _measure(pair, each, request, gate, say)
        outcome = outcome_of(pair, each, found.comparison, seconds)
        outcomes = (*(record.outcomes if record else ()), outcome)
        record = msgspec.structs.replace(
            record or _begun(found.run, gate, settings, frozen),
            updated=found.run.finished or found.run.started,
            outcomes=outcomes,
            summary=summary(outcomes),
        )
        write(record, out, markdown(record))
        say(f"{number} of {len(todo)}, {pair.name}, {seconds:.0f} s: {outcome.verdict}, by its class {each.class_}")
    if record is None:
        raise LevelfieldError("No pair is frozen.")
    return record


def settings_of(request: TrialRequest) -> dict[str, str]:
    """Return a request as a record holds it."""
    return {name: str(value) for name, value in msgspec.to_builtins(request).items()}


def existing(path: Path, request: TrialRequest, frozen: FrozenList, *, add: bool) -> Record | None:
    """Read the record that is added to, if it is there; it must be of the same list, settings and machine."""
    if not path.exists():
        return None
    if not add:
        raise LevelfieldError(f"{path} exists already.", fix="Add to it (--add), or name another file with --out.")
    record = read(path, Record)
    if record.settings != settings_of(request) or record.classes_sha256 != frozen.record_sha256:
        raise LevelfieldError(f"{path} was made with other settings.", fix="Give the same options, or another --out.")
    here = fingerprint(tuple(sorted(os.sched_getaffinity(0))))
    if machine_sha256(record.machine) != machine_sha256(here):
        raise LevelfieldError(f"{path} was made on another machine.", fix="Name another file with --out.")
    return record


def _begun(run: Run, gate: Gate, settings: dict[str, str], frozen: FrozenList) -> Record:
    return Record(
        schema=Record.SCHEMA,
        started=run.started,
        updated=run.started,
        tool_version=__version__,
        settings=settings,
        gate=gate,
        machine=run.machine,
        classes_sha256=frozen.record_sha256,
    )


def _measure(
    pair: Pair, frozen: Frozen, request: TrialRequest, gate: Gate, say: Callable[[str], None]
) -> tuple[AbResult, float]:
    with tempfile.TemporaryDirectory(prefix="levelfield-regressions-") as name:
        folder = Path(name)
        if workload(pair, folder, say) != frozen.model_sha256:
            raise LevelfieldError(f"The workload of {pair.name} is not the one that was classified.")
        own = None
        if not pair.zoo_model:  # as `--model` and `--input` keep a file, under the workload's name
            model = (folder / MODEL).rename(folder / f"{pair.workload}.onnx")
            own = store.read(model, {}, {path.stem: path for path in sorted(folder.glob("*.npy"))})
        models_ = (pair.zoo_model,) if pair.zoo_model else ()
        selection = Selection(control="none", profile=request.profile, models=models_, scenarios=("latency",), own=own)
        options = Options(
            selection=selection,
            budget_seconds=request.budget_seconds,
            margin=gate.margin,
            reports=folder / "reports",
            launcher="docker",
        )
        began = time.monotonic()
        return measure(*pair.arms, options, gate, Console(quiet=True)), time.monotonic() - began


MODEL = "model.onnx"


def workload(pair: Pair, folder: Path, say: Progress) -> str:
    """Write what a pair is measured with."""
    if pair.zoo_model:
        return _export(pair.zoo_model, folder, say)
    made = workloads.make(pair.workload)
    (folder / MODEL).write_bytes(made.model)
    for name, array in made.inputs.items():
        np.save(folder / f"{name}.npy", array)
    return hashlib.sha256(made.model).hexdigest()


def _export(name: str, folder: Path, say: Progress) -> str:
    launcher, artifacts = DockerLauncher(connect()), Artifacts(progress=say)
    exporter = launcher.prepare(EXPORTER, "cpu", None, say)
    onnx = artifacts.exported(name, "fp32", 1, exporter=exporter, launcher=launcher)
    for file in (artifacts.root / onnx.path).parent.iterdir():
        shutil.copyfile(file, folder / file.name)
    for tensor, array in inputs.make(models.get(name), 0, 1).items():
        np.save(folder / f"{tensor}.npy", array)
    return onnx.sha256


@click.command(context_settings=commands.SETTINGS)
@click.option("--only", type=NAMES, default=(), help="Only these pairs, by name; default: all.")
@click.option("--budget", "budget_seconds", type=DURATION, help="Most time of a pair; default: `ab`'s own.")
@click.option("--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none.")
@click.option("--profile", default="standard", show_default=True)
@click.option("--frozen", type=click.Path(path_type=Path), default=pairs.FROZEN, help="The frozen list.")
@commands.out_option
@commands.add_option
def main(only: tuple[str, ...], frozen: Path, out: Path | None, *, add: bool, **requested: Any) -> None:  # noqa: ANN401
    """Run `levelfield ab` on every frozen pair, and count what it finds."""
    with commands.terminal() as listener:
        out = out or commands.default_path("regressions")
        request = msgspec.convert(requested, TrialRequest)
        chosen = pairs.read_frozen(frozen)
        before = existing(out, request, chosen, add=add)
        kept = tuple(each for each in chosen.pair if not only or each.name in only)
        found = run(msgspec.structs.replace(chosen, pair=kept), request, out, listener.say, before)
        listener.show(markdown(found), out)


if __name__ == "__main__":
    main()
