"""A well-known comparison of five frameworks, as it was published and fairly: two tables side by side.

`nox -s folklore` calls it. Every form of every framework runs in a container of the same image, on the same CPUs, and
all of them take turns in random order; launches are repeated.
"""

import datetime as dt
import os
import random
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import docker
import msgspec
from rich.console import Console
from rich.markup import escape

from suite import __version__, plan
from suite.errors import LevelfieldError
from suite.launchers.docker import DockerLauncher, connect
from suite.machine.fingerprint import fingerprint
from suite.machine.signals import Signals
from suite.record.files import write_atomically
from suite.record.schema import Absent, Arm, Case
from suite.safety import terminals
from suite.schedule.launches import LOAD_TIMEOUT_S
from suite.schedule.outcomes import utc_now
from suite.schedule.preparation import prepare
from suite.schedule.rounds import REWARM_NS
from suite.schedule.site import Site, task_for
from suite.schedule.verification import compare_outputs
from suite.trials.folklore import inside, show
from suite.trials.folklore.findings import rows
from suite.trials.folklore.forms import BATCH, FAIRLY, FRAMEWORKS, Framework
from suite.trials.folklore.record import SCHEMA, Folklore, Row, Said
from suite.trials.overhead.contestants import WINDOW_TIMEOUT_S, InlineProcess, Pace, Reading, reading, spec_of
from suite.trials.overhead.schedule import Effort, generation
from suite.trials.reading import read
from suite.trials.telling import Lines
from suite.worker.messages import Verified

if TYPE_CHECKING:
    from suite.trials.record import Generation

MODEL = "mlp"
MAX_BYTES = 50_000_000
DONE, COULD_NOT_RUN = 0, 2


class Options(msgspec.Struct, frozen=True):
    """What the trial was asked for."""

    effort: Effort
    threads: int | None = None
    seed: int = 0


class _Process:
    """One framework in one container: its published forms, or the fair one."""

    def __init__(
        self, client: docker.DockerClient, site: Site, case: Case, arm: Arm, framework: Framework, *, fair: bool
    ) -> None:
        spec = spec_of(site, case, arm)
        names = [form.name for form in framework.forms if (form.name == FAIRLY) is fair]
        self.name = f"{framework.title}, {FAIRLY if fair else names[0]}"
        self.forms = {form.name: form for form in framework.forms if form.name in names}
        self._process = InlineProcess(client, spec, self.name, Path(inside.__file__))
        self.pid = self._process.pid
        single = site.onnx.get((MODEL, case.precision, 1))
        places = site.launcher.inside(spec)
        try:
            self._process.say(
                inside.Given(
                    task=task_for(site, case, arm, places),
                    forms=tuple(names),
                    single_onnx=f"{places.artifacts}/{single.path}" if single is not None else None,
                )
            )
            self.answers = self._process.answer(list[inside.Answer], LOAD_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    def samples(self, ask: inside.Ask) -> list[int]:
        self._process.say(ask)
        return self._process.answer(inside.Samples, WINDOW_TIMEOUT_S).samples_ns

    def close(self) -> None:
        self._process.close()


class _Contestant:
    """One form of a process."""

    def __init__(self, process: _Process, form: str) -> None:
        self._process = process
        self._form = form
        self.process = process.name
        self.pid = process.pid

    def window(self, pace: Pace) -> Reading:
        return reading(self._process.samples(inside.Ask(self._form, pace.window_ns, pace.min_calls, REWARM_NS)))


def run(options: Options, console: Console, keep: Callable[[Folklore], None]) -> Folklore:
    """Measure both tables and return the record; a framework that cannot be launched costs its own row only.

    Parameters
    ----------
    keep
        Is given the record after every generation.

    Raises
    ------
    LevelfieldError
        No engine answers, the images cannot be made, or a process died in the middle of a generation.
    """
    started, load_before = utc_now(), os.getloadavg()
    client = connect()
    chosen = plan.make(
        plan.Selection(
            profile="smoke",
            models=(MODEL,),
            backends=tuple(framework.backend for framework in FRAMEWORKS),
            scenarios=("latency", "throughput"),
            batches=(BATCH,),
            threads=() if options.threads is None else (options.threads,),
        )
    )
    block = next(block for block in chosen.blocks if block.case.batch == BATCH)
    arms = {arm.backend: arm for arm in block.arms}
    lines = Lines(console)
    launcher = DockerLauncher(client)
    launcher.sweep()
    site = prepare(chosen, launcher, lines)
    machine = fingerprint(site.cpus)
    generations: list[Generation] = []
    said: dict[str, Said] = {}
    failures: dict[str, str] = {}

    def record() -> Folklore:
        there = _there(failures)
        return Folklore(
            schema=SCHEMA,
            started=started,
            finished=utc_now(),
            tool_version=__version__,
            seed=options.seed,
            batch=BATCH,
            threads=block.case.threads,
            cpus=site.cpus,
            settings=_settings(options.effort),
            machine=machine,
            images=tuple(site.images.values()),
            artifacts=tuple(onnx.artifact for onnx in site.onnx.values()),
            load_before=load_before,
            load_after=os.getloadavg(),
            forms=tuple(form for framework in there for form in framework.forms),
            said=tuple(said[form.arm] for framework in there for form in framework.forms if form.arm in said),
            generations=tuple(generations),
            rows=rows(there, generations, tuple(said.values())),
            failures=failures,
        )

    try:
        with Signals(site.cpus) as signals:
            while len(generations) < options.effort.launches:
                order = random.Random(f"{options.seed}/{len(generations)}")  # noqa: S311  (a schedule)
                with _launched(client, site, block.case, arms, failures, said, order) as contestants:
                    if contestants:
                        generations.append(generation(contestants, options.effort, order, signals))
                if not contestants:
                    raise LevelfieldError("No framework could be launched.", fix="; ".join(failures.values())[:800])
                lines.say(f"launch {len(generations)} of {options.effort.launches}")
                keep(record())
    finally:
        shutil.rmtree(site.caches, ignore_errors=True)
    return record()


def _there(failures: Mapping[str, str]) -> tuple[Framework, ...]:
    return tuple(framework for framework in FRAMEWORKS if framework.backend not in failures)


@contextmanager
def _launched(
    client: docker.DockerClient,
    site: Site,
    case: Case,
    arms: Mapping[str, Arm],
    failures: dict[str, str],
    said: dict[str, Said],
    order: random.Random,
) -> Iterator[dict[str, _Contestant]]:
    """Launch every process in random order; note what fails and what each form answers."""
    pairs = [(framework, fair) for framework in _there(failures) for fair in (False, True)]
    order.shuffle(pairs)
    with ExitStack() as stack:
        processes: list[tuple[Framework, _Process]] = []
        for framework, fair in pairs:
            if framework.backend in failures:
                continue
            try:
                process = _Process(client, site, case, arms[framework.backend], framework, fair=fair)
            except LevelfieldError as error:
                failures[framework.backend] = str(error)
                continue
            stack.callback(process.close)
            processes.append((framework, process))
            for answer in process.answers:
                form = process.forms[answer.form]
                said[form.arm] = _said(form.arm, answer, site, case)
        yield {
            form.arm: _Contestant(process, name)
            for framework, process in processes
            if framework.backend not in failures
            for name, form in process.forms.items()
        }


def _said(arm: str, answer: inside.Answer, site: Site, case: Case) -> Said:
    """Hold an answer against the float64 reference."""
    if not answer.output:
        return Said(arm, None, None, "it makes weights of its own in the call, so it answers for no model")
    parity = compare_outputs(
        Verified(answer.shape, answer.output), site.artifacts.reference(case.model, case.batch), case.precision
    )
    error = None if isinstance(parity.relative_error, Absent) else parity.relative_error
    return Said(arm, parity.equal, error, parity.reason)


def _settings(effort: Effort) -> dict[str, float]:
    return {
        "launches": effort.launches,
        "rounds": effort.rounds,
        "window ns": effort.pace.window_ns,
        "calls at least": effort.pace.min_calls,
    }


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--launches", type=click.IntRange(1), default=5, show_default=True, help="Fewer than five rank nothing.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Windows of each launch.")
@click.option("--window", type=click.FloatRange(0.01), default=0.25, show_default=True, help="Seconds in a window.")
@click.option("--threads", type=int, default=None, help="Threads of the fair forms; default: one per core.")
@click.option("--seed", type=int, default=None, help="Seed of the schedule; the record holds it.")
@click.option(
    "--quick", is_flag=True, help="Two launches and short windows: it shows that all works, and ranks nothing."
)
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Record; default: under reports/trials/.")
@click.option(
    "--analyse",
    "only",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    metavar="RECORD",
    help="Only analyse this record anew, and write it and its table again.",
)
def main(
    launches: int,
    rounds: int,
    window: float,
    threads: int | None,
    seed: int | None,
    quick: bool,
    out: Path | None,
    only: Path | None,
) -> None:
    """Run a published comparison of five frameworks as published, and fairly."""
    console = terminals.console()
    if only is not None:
        sys.exit(_analyse(only, out or only, console))
    effort = Effort(launches, launches, rounds, Pace(round(window * 1e9), min_calls=3))
    if quick:
        effort = Effort(2, 2, 1, Pace(30_000_000, min_calls=1))
    out = out if out is not None else Path("reports/trials") / f"folklore-{dt.datetime.now(dt.UTC):%Y-%m-%d}.json"
    seed = seed if seed is not None else secrets.randbits(63)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        record = run(Options(effort, threads, seed), console, lambda found: _write(found, out))
    except (LevelfieldError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        sys.exit(COULD_NOT_RUN)
    _show(record, out, console)
    sys.exit(exit_code(record))


def analysed(record: Folklore) -> tuple[Row, ...]:
    """Return both tables of a record, as its windows and answers give them today."""
    return rows(_there(record.failures), record.generations, record.said)


def _analyse(source: Path, out: Path, console: Console) -> int:
    """Analyse a record anew and write it; return the exit code."""
    try:
        record = read(source, Folklore, schema=SCHEMA, most_bytes=MAX_BYTES, trial="the folklore trial")
        record = msgspec.structs.replace(record, rows=analysed(record))
        _write(record, out)
    except (LevelfieldError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        return COULD_NOT_RUN
    _show(record, out, console)
    return exit_code(record)


def _write(record: Folklore, out: Path) -> None:
    write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    write_atomically(out.with_suffix(".md"), show.markdown(record).encode())


def _show(record: Folklore, out: Path, console: Console) -> None:
    show.show(record, console)
    written = f"Record: {escape(str(out))}, table: {escape(str(out.with_suffix('.md')))}"
    console.print(written, highlight=False, soft_wrap=True)


def exit_code(record: Folklore) -> int:
    """Return what the trial says to the shell: 0 where every framework is in both tables, else 2."""
    return DONE if record.rows and not record.failures else COULD_NOT_RUN
