"""A well-known comparison of five frameworks, as it was published and fairly: two tables side by side.

Every form of every framework runs in a container of the same image, on the same CPUs, and
all of them take turns in random order; launches are repeated.
"""

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import connect
from levelfield.machine.signals import Signals
from levelfield.plan.types import FileKey
from levelfield.record.schema import Absent
from levelfield.schedule.output_verification import compare_outputs
from levelfield.worker.messages import Verified
from studies import commands
from studies.commands import begin
from studies.harness import form_worker
from studies.harness.contestants import InlineProcess, Loop, Pace, Target
from studies.harness.schedule import Effort, generation
from studies.published_comparison.findings import markdown, rows
from studies.published_comparison.record import BATCH, FAIRLY, FRAMEWORKS, AnswerCheck, Folklore, Framework

MODEL = "mlp"


class _Process(InlineProcess):
    """One framework in one container: its published forms, or the fair one."""

    def __init__(self, target: Target, framework: Framework, *, fair: bool) -> None:
        self.forms = [form for form in framework.forms if (form.name == FAIRLY) is fair]
        names = tuple(form.name for form in self.forms)
        self.process = f"{framework.title}, {names[0]}"
        super().__init__(target, self.process)
        single = target.resources.files.get(FileKey(MODEL, target.case.precision, 1))
        single_onnx = f"/artifacts/{single.path}" if single is not None else None
        self.answers = self.load(form_worker.FormsRequest(self.task, names, single_onnx))


def run(
    keep: commands.Keep[Folklore], listener: commands.Terminal, *, effort: Effort, threads: int | None, seed: int
) -> Folklore:
    """Measure both tables; a framework that cannot be launched costs its own row only."""
    backends = [framework.backend for framework in FRAMEWORKS]
    selected = commands.selection((MODEL,), backends, threads, scenarios=("latency", "throughput"), batches=(BATCH,))
    with (
        commands.prepared(selected, listener) as (plan, resources),
        closing(connect()) as client,
        Signals(resources.cpus) as signals,
    ):
        block = next(block for block in plan.blocks if block.case.batch == BATCH)
        targets = {arm.backend: Target(client, resources, block.case, arm, resources.cpus) for arm in block.arms}
        settings = {
            "launches": effort.launches,
            "rounds": effort.rounds,
            "window ns": effort.pace.window_ns,
            "calls at least": effort.pace.min_calls,
        }
        facts = {"batch": BATCH, "threads": block.case.threads, "cpus": resources.cpus, "settings": settings}
        record = begin(Folklore, resources, seed=seed, **facts)
        said: dict[str, AnswerCheck] = {}
        failures: dict[str, str] = {}
        for number in range(effort.launches):
            order = random.Random(f"{seed}/{number}")  # noqa: S311  (a schedule)
            with _launched(targets, failures, said, order) as contestants:
                if not contestants:
                    raise LevelfieldError("No framework could be launched.", fix="; ".join(failures.values())[:800])
                generations = (*record.generations, generation(contestants, effort, order, signals))
            listener.say(f"launch {number + 1} of {effort.launches}")
            forms = tuple(form for framework in _measured(failures) for form in framework.forms)
            record = record.updated(
                forms=forms,
                said=tuple(said[form.arm] for form in forms if form.arm in said),
                generations=generations,
                failures=dict(failures),
            )
            keep(record)
    return record


def _measured(failures: Mapping[str, str]) -> tuple[Framework, ...]:
    return tuple(framework for framework in FRAMEWORKS if framework.backend not in failures)


@contextmanager
def _launched(
    targets: Mapping[str, Target], failures: dict[str, str], said: dict[str, AnswerCheck], order: random.Random
) -> Iterator[dict[str, Loop]]:
    """Launch every process in random order; note what fails and what each form answers."""
    pairs = [(framework, fair) for framework in _measured(failures) for fair in (False, True)]
    order.shuffle(pairs)
    with ExitStack() as stack:
        launched: dict[str, Loop] = {}
        for framework, fair in pairs:
            target = targets[framework.backend]
            if framework.backend in failures:
                continue
            try:
                process = _Process(target, framework, fair=fair)
            except LevelfieldError as error:
                failures[framework.backend] = str(error)
                continue
            stack.callback(process.close)
            for form, answer in zip(process.forms, process.answers, strict=True):
                said[form.arm] = _said(form.arm, answer, target)
                launched[form.arm] = Loop(process, "bare", form.name)
        failed = {form.arm for each in FRAMEWORKS if each.backend in failures for form in each.forms}
        yield {arm: contestant for arm, contestant in launched.items() if arm not in failed}


def _said(arm: str, answer: form_worker.Answer, target: Target) -> AnswerCheck:
    """Compare an answer with the float64 reference."""
    if not answer.output:
        return AnswerCheck(arm, None, None, "it makes weights of its own in the call, so it answers for no model")
    case = target.case
    reference = target.resources.artifacts.reference(case.model, case.batch)
    parity = compare_outputs(Verified(answer.shape, answer.output), reference, case.precision)
    error = None if isinstance(parity.relative_error, Absent) else parity.relative_error
    return AnswerCheck(arm, parity.equal, error, parity.reason)


def analysed(record: Folklore) -> Folklore:
    """Return a record with both tables, as its windows and answers give them today."""
    return msgspec.structs.replace(record, rows=rows(_measured(record.failures), record.generations, record.said))


@click.command(context_settings=commands.SETTINGS)
@click.option("--launches", type=click.IntRange(1), default=5, show_default=True, help="Fewer than five rank nothing.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Windows of each launch.")
@click.option("--window", type=click.FloatRange(0.01), default=0.25, show_default=True, help="Seconds in a window.")
@click.option("--threads", type=int, default=None, help="Threads of the fair forms; default: one per core.")
@commands.seed_option
@click.option("--quick", is_flag=True, help="Two launches and short windows: it shows that all works, no more.")
@commands.out_option
@commands.analyse_option
def main(
    launches: int,
    rounds: int,
    window: float,
    out: Path | None,
    only: Path | None,
    *,
    quick: bool,
    **requested: Any,  # noqa: ANN401
) -> None:
    """Run a published comparison of five frameworks as published, and fairly."""
    effort = Effort(launches, rounds, Pace(round(window * 1e9), min_calls=3))
    if quick:
        effort = Effort(2, 1, Pace(30_000_000, min_calls=1))
    measured = partial(run, effort=effort, **requested)
    sys.exit(exit_code(commands.conduct(Folklore, measured, analysed, markdown, out=out, only=only)))


def exit_code(record: Folklore) -> int:
    """Return what the trial says to the shell: 0 where every framework is in both tables, else 2."""
    return 0 if record.rows and not record.failures else commands.COULD_NOT_RUN


if __name__ == "__main__":
    main()
