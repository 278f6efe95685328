"""`levelfield ab A B`: two versions, variants, settings or backends against each other in one run."""

import sys
from pathlib import Path
from typing import Literal

import click

from suite.cli.options import BASE, DURATION, LAUNCHER, PERCENT, REPORTS, SEED, without_paths
from suite.cli.selection import selection
from suite.safety import terminals


@click.command()
@click.argument("a")
@click.argument("b")
@selection
@click.option("--budget", type=DURATION, default=None, help="Stop between generations after this long: 90s, 10m, 2h.")
@click.option(
    "--precision-target",
    type=PERCENT,
    default=None,
    help="Go on until every ratio is known to ± this; default: half of the margin.",
)
@click.option("--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none.")
@click.option("--max-slowdown", type=PERCENT, default=None, help="Only what is shown to exceed this is worse.")
@click.option("--bisect", is_flag=True, help="Find which distribution of the two locks makes the difference.")
@LAUNCHER
@BASE
@REPORTS
@click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the comparison to a file as well: .md, .xml (JUnit), .json, .html or .txt; several times.",
)
@click.option("--resume", metavar="RUN", default=None, help="Go on with a run of these arms that was cut off.")
@click.option("--seed", type=SEED, default=None, help="Seed of the schedule; the record holds it.")
@click.option("--identify", is_flag=True, help="Put this host's name into the record.")
def ab(
    a: str,
    b: str,
    profile: str,
    models: tuple[str, ...],
    own: Path | None,
    dims: tuple[tuple[str, str], ...],
    values: tuple[tuple[str, str], ...],
    scenarios: tuple[str, ...],
    precision: tuple[str, ...],
    batch: tuple[int, ...],
    inject: tuple[str, str] | None,
    threads: tuple[int, ...],
    processes: tuple[int, ...],
    variant: str,
    gpu: str | None,
    budget: float | None,
    precision_target: float | None,
    margin: float,
    max_slowdown: float | None,
    bisect: bool,
    launcher: str | None,
    base: Literal["debian", "registry"],
    reports: Path,
    output: tuple[Path, ...],
    resume: str | None,
    seed: int | None,
    identify: bool,
) -> None:
    """Hold B against A: versions, variants, settings or backends, taking turns in one run on this machine.

    An arm is a backend with what stands behind it: onnxruntime, onnxruntime@1.30.0, onnxruntime+spinning=off. The same
    arm may be named twice: that shows what no difference looks like here. onnxruntime against onnxruntime+launcher=venv
    shows what the container costs.
    """
    from suite.compare.formats import SUFFIXES, WRITERS
    from suite.compare.types import Gate
    from suite.plan import Selection
    from suite.prepare.own_model.request import read
    from suite.record.files import write_atomically
    from suite.run.ab import measure, target, tell
    from suite.run.bench import Options
    from suite.run.start import Request

    unknown = [path for path in output if path.suffix.lower() not in SUFFIXES]
    if unknown:
        raise click.UsageError(f"The ending of {unknown[0]} names no format: {', '.join(SUFFIXES)}.")

    options = Options(
        selection=Selection(
            profile=profile,
            models=models,
            scenarios=scenarios,
            precisions=precision,
            batches=batch,
            threads=threads,
            processes=processes,
            control="none",
            inject=inject,
            variant=variant,
            gpu=gpu,
            own=read(own, dims, values),
            locked=launcher != "host",
        ),
        request=Request(
            budget_seconds=budget,
            precision_target=target(precision_target, margin, profile),
            margin=margin,
            seed=seed,
            identify=identify,
            command=("levelfield", *without_paths(sys.argv[1:])),
        ),
        reports=reports,
        launcher=launcher,
        base=base,
        resume=resume,
    )
    gate = Gate(margin=margin, max_slowdown=max_slowdown)
    console = terminals.console()
    if bisect:
        from suite.run.bisect import narrate, run_bisection

        hunted = run_bisection(a, b, options, gate, console)
        found, code = hunted.whole, narrate(hunted, console)
    else:
        found = measure(a, b, options, gate, console)
        code = tell(found, console)
    for path in output:
        write_atomically(path, WRITERS[SUFFIXES[path.suffix.lower()]](found.comparison).encode("utf-8", "replace"))
    sys.exit(code)
