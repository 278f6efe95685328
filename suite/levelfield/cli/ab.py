"""`levelfield ab A B`: compare two versions, variants, settings or backends in one run."""

import sys
from pathlib import Path
from typing import Any

import click

from levelfield.cli import completion
from levelfield.cli.answers.printing import JSON
from levelfield.cli.compare import formats_of, write
from levelfield.cli.help_sections import SectionedCommand
from levelfield.cli.measuring import options_of, selection
from levelfield.cli.options import (
    BASE,
    BUDGET,
    IDENTIFY,
    LAUNCHER,
    MARGIN,
    MAX_SLOWDOWN,
    OUTPUT,
    PERCENT,
    REPORTS,
    SEED,
)
from levelfield.safety import terminals


@click.command(cls=SectionedCommand)
@click.argument("a", shell_complete=completion.arm)
@click.argument("b", shell_complete=completion.arm)
@selection
@BUDGET
@click.option(
    "--precision-target",
    type=PERCENT,
    help="Continue until every ratio is known to ± this; default: until every case has a verdict.",
)
@MARGIN
@MAX_SLOWDOWN
@click.option("--bisect", is_flag=True, help="Find the package in the two locks that makes the difference.")
@click.option(
    "--why", is_flag=True, help="Profile both arms where they differ most, and list the operators whose time changed."
)
@LAUNCHER
@BASE
@REPORTS
@OUTPUT
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=completion.runs,
    help="Continue a run of these arms that was interrupted or ended without a verdict.",
)
@click.option("--seed", type=SEED, help="Seed of the schedule; it is stored in the record.")
@IDENTIFY
@JSON
def ab(
    a: str,
    b: str,
    *,
    max_slowdown: float | None,
    bisect: bool,
    why: bool,
    output: tuple[Path, ...],
    as_json: bool,
    **values: Any,  # noqa: ANN401  (each option has a type of its own)
) -> None:
    """Compare A with B, interleaved in one run on this machine.

    A and B are arms: a backend, optionally with a version, variant or settings, such as onnxruntime,
    onnxruntime@1.30.0 or onnxruntime+spinning=off. Name the same arm twice to see what no difference looks like on this
    machine. Compare onnxruntime with onnxruntime+launcher=venv to see what the container costs.

    The run ends as soon as every case has a verdict.

    Exit codes: 0 B is not worse; 1 B is worse, fails or is not equal; 2 could not run; 3 not decided.
    """
    from levelfield.compare.formats import json
    from levelfield.compare.types import Gate
    from levelfield.run.ab import measure, show

    targets = formats_of(output)
    options = options_of({**values, "control": "none"})
    gate = Gate(margin=values["margin"], max_slowdown=max_slowdown)
    console = terminals.console(stderr=as_json)
    if bisect:
        from levelfield.run.bisect import run_bisection, show_conclusion

        hunted = run_bisection(a, b, options, gate, console)
        found, code = hunted.overall, show_conclusion(hunted, console)
    else:
        found = measure(a, b, options, gate, console)
        code = show(found, console, measured=True)
    if why:
        from levelfield.run import why as explained

        explained.show(explained.explain(found, options, console), found, console)
    write(found.comparison, targets)
    if as_json:
        terminals.write(json.write(found.comparison))
    sys.exit(code)
