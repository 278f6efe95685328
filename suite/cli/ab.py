"""`levelfield ab A B`: two versions, variants, settings or backends against each other in one run."""

import sys
from pathlib import Path
from typing import Any

import click

from suite.cli.measuring import options_of, selection
from suite.cli.options import BASE, BUDGET, IDENTIFY, LAUNCHER, MARGIN, PERCENT, REPORTS, SEED
from suite.safety import terminals


@click.command()
@click.argument("a")
@click.argument("b")
@selection
@BUDGET
@click.option(
    "--precision-target",
    type=PERCENT,
    default=None,
    help="Go on until every ratio is known to ± this; default: until every case has a verdict.",
)
@MARGIN
@click.option("--max-slowdown", type=PERCENT, default=None, help="Only what is shown to exceed this is worse.")
@click.option("--bisect", is_flag=True, help="Find which distribution of the two locks makes the difference.")
@click.option(
    "--why", is_flag=True, help="Profile both arms where they differ most, and name the operators whose time moved."
)
@click.option(
    "--cross",
    multiple=True,
    metavar="ARM",
    help="A with another change: all combinations with B's are measured, for what each does by itself and together.",
)
@LAUNCHER
@BASE
@REPORTS
@click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the comparison to a file as well: .md, .xml (JUnit), .json, .html or .txt; several times.",
)
@click.option(
    "--resume",
    metavar="RUN",
    default=None,
    help="Go on with a run of these arms that was cut off, or that ended without a verdict.",
)
@click.option("--seed", type=SEED, default=None, help="Seed of the schedule; the record holds it.")
@IDENTIFY
def ab(
    a: str,
    b: str,
    *,
    max_slowdown: float | None,
    bisect: bool,
    why: bool,
    cross: tuple[str, ...],
    output: tuple[Path, ...],
    **values: Any,  # noqa: ANN401  (each option has a type of its own)
) -> None:
    """Compare B with A: versions, variants, settings or backends, taking turns in one run on this machine.

    An arm is a backend with what stands behind it: onnxruntime, onnxruntime@1.30.0, onnxruntime+spinning=off. The same
    arm may be named twice: that shows what no difference looks like here. onnxruntime against onnxruntime+launcher=venv
    shows what the container costs. It ends as soon as every case has a verdict.
    """
    from suite.compare.formats import SUFFIXES, WRITERS
    from suite.compare.types import Gate
    from suite.record.files import write_atomically
    from suite.run.ab import measure, show

    unknown = [path for path in output if path.suffix.lower() not in SUFFIXES]
    if unknown:
        raise click.UsageError(f"The ending of {unknown[0]} names no format: {', '.join(SUFFIXES)}.")

    options = options_of({**values, "control": "none"})
    gate = Gate(margin=values["margin"], max_slowdown=max_slowdown)
    console = terminals.console()
    if cross:
        if bisect or why or output or max_slowdown is not None:
            raise click.UsageError("--cross goes with none of --bisect, --why, --output and --max-slowdown.")
        from suite.run import cross as crossing

        sys.exit(crossing.show(*crossing.measure(a, (b, *cross), options, gate, console), console))
    if bisect:
        from suite.run.bisect import run_bisection, show_conclusion

        hunted = run_bisection(a, b, options, gate, console)
        found, code = hunted.overall, show_conclusion(hunted, console)
    else:
        found = measure(a, b, options, gate, console)
        code = show(found, console, measured=True)
    if why:
        from suite.run import why as explained

        explained.show(explained.explain(found, options, console), found, console)
    for path in output:
        write_atomically(path, WRITERS[SUFFIXES[path.suffix.lower()]](found.comparison).encode("utf-8", "replace"))
    sys.exit(code)
