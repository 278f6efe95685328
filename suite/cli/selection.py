"""The options that say what is measured, for every command that plans a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from suite.cli.options import GPU, INJECTION, NAMES, NUMBERS, PROCESSES, SIZE, VALUES, VARIANT

_F = TypeVar("_F", bound=Callable[..., Any])


def selection(command: _F) -> _F:
    """Add the options that say what is measured, which `bench` and `ab` share."""
    for option in reversed(
        (
            click.option("--profile", default="standard", show_default=True, help="smoke, standard or full."),
            click.option("--models", type=NAMES, default=(), help="Only these, separated by commas."),
            click.option(
                "--model",
                "own",
                metavar="FILE.onnx",
                type=click.Path(path_type=Path),
                default=None,
                help="An ONNX file of your own, in the place of models, for all backends that read such files.",
            ),
            click.option(
                "--dim",
                "dims",
                metavar="NAME=SIZE",
                type=SIZE,
                multiple=True,
                help="How long a dimension of that file is that says no size; the batch it begins with needs none.",
            ),
            click.option(
                "--input",
                "values",
                metavar="NAME=FILE.npy",
                type=VALUES,
                multiple=True,
                help="Values for an input of that file; otherwise they are seeded.",
            ),
            click.option("--scenarios", type=NAMES, default=(), help="latency, throughput, … (`levelfield list`)."),
            click.option(
                "--precision",
                type=NAMES,
                default=(),
                help="fp32, bf16, int8; tf32 and fp16 on GPUs; each is ranked apart.",
            ),
            click.option(
                "--batch", type=NUMBERS, default=(), help="Batch sizes of throughput (2 or more) and training."
            ),
            click.option("--inject", type=INJECTION, default=None, help="Slow one arm down: 5%@onnxruntime#2."),
            click.option(
                "--threads",
                type=NUMBERS,
                default=(),
                help="Threads of every worker, or several numbers; default: one per core.",
            ),
            PROCESSES,
            VARIANT,
            GPU,
        )
    ):
        command = option(command)
    return command
