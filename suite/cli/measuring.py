"""The options that `bench` and `ab` share, and what the values of a command's options make.

An option's value has the name of the field of `Selection` or `Options` that it becomes.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from suite.cli.options import (
    GPU,
    INJECTION,
    NAMES,
    NUMBERS,
    PROCESSES,
    SIZE,
    VALUES,
    VARIANT,
    without_paths,
)

if TYPE_CHECKING:
    from suite.run.options import Options

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
                "precisions",
                type=NAMES,
                default=(),
                help="fp32, bf16, int8; tf32 and fp16 on GPUs; each is ranked apart.",
            ),
            click.option(
                "--batch",
                "batches",
                type=NUMBERS,
                default=(),
                help="Batch sizes of throughput (2 or more) and training.",
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


def options_of(values: Mapping[str, Any]) -> "Options":
    """Return what was typed as the options of a run.

    Parameters
    ----------
    values
        By the name of the field; values that are no field of a run's options are left out.

    Raises
    ------
    LevelfieldError
        A file of the user's own cannot be measured.
    """
    from suite.plan import Selection
    from suite.prepare.own_model.request import read
    from suite.prepare.training_data import TrainingDataRequest
    from suite.run.options import Options

    def fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
        return {name: values[name] for name in kind.__struct_fields__ if name in values}

    own = read(values["own"], values["dims"], values["values"])
    return Options(
        **fields(Options),
        selection=Selection(**{**fields(Selection), "own": own, "locked": values["launcher"] != "host"}),
        training_data=TrainingDataRequest(**fields(TrainingDataRequest)),
        command=("levelfield", *without_paths(sys.argv[1:])),
    )
