"""The options that `bench` and `ab` share, and how typed values become the options of a run.

An option's value has the name of the field of `Selection` or `Options` that it becomes.
"""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from levelfield.cli import completion
from levelfield.cli.options import (
    CPUS,
    DEPTHS,
    GPU,
    INJECTION,
    KV_CACHES,
    NAMES,
    NUMBERS,
    OWN_MODEL,
    OWN_MODULE,
    OWN_WEIGHTS,
    PROCESSES,
    SIZE,
    VALUES,
    VARIANT,
    without_paths,
)
from levelfield.errors import LevelfieldError

if TYPE_CHECKING:
    from levelfield.run.options import Options

_F = TypeVar("_F", bound=Callable[..., Any])
_SELECTION = (
    click.option(
        "--profile",
        default="standard",
        shell_complete=completion.profiles,
        help="smoke, standard or full: what is measured, and how often (see `levelfield list`).",
    ),
    click.option(
        "--models",
        type=NAMES,
        default=(),
        shell_complete=completion.models,
        help="Only these models, separated by commas.",
    ),
    OWN_MODEL,
    click.option(
        "--dim",
        "dims",
        type=SIZE,
        multiple=True,
        help="Size of a dynamic dimension of that file; not needed for a leading batch dimension.",
    ),
    click.option(
        "--input",
        "values",
        type=VALUES,
        multiple=True,
        help="Values of an input of that file; default: seeded random values.",
    ),
    OWN_MODULE,
    OWN_WEIGHTS,
    click.option(
        "--scenarios",
        type=NAMES,
        default=(),
        shell_complete=completion.scenarios,
        help="Only these: latency, throughput, … (`levelfield list`).",
    ),
    click.option(
        "--precision",
        "precisions",
        type=NAMES,
        default=(),
        help="fp32, bf16, int8; on GPUs also tf32 and fp16. Each precision is ranked separately.",
    ),
    click.option(
        "--batch", "batches", type=NUMBERS, default=(), help="Batch sizes of throughput (2 or more) and training."
    ),
    click.option("--inject", type=INJECTION, help="Slow one arm down, to test the method: 5%@onnxruntime#2."),
    click.option(
        "--threads", type=NUMBERS, default=(), help="Threads of each worker, or several numbers; default: one per core."
    ),
    CPUS,
    PROCESSES,
    DEPTHS,
    KV_CACHES,
    VARIANT,
    GPU,
)


def selection(command: _F) -> _F:
    """Add the options that say what is measured, which `bench` and `ab` share."""
    for option in reversed(_SELECTION):
        command = option(command)
    return command


def options_of(values: Mapping[str, Any]) -> "Options":
    """Return typed values as the options of a run.

    Raises LevelfieldError: the cache folder cannot be made, or a file of the user's own cannot be measured.
    """
    from levelfield.paths import cache_root
    from levelfield.plan import Selection
    from levelfield.prepare.own_model import python_file
    from levelfield.prepare.own_model import store as own_files
    from levelfield.prepare.own_weights import store as own_weights
    from levelfield.run.options import Options
    from levelfield.schedule import data_sets

    cache_root()  # without one nothing can be prepared: that is said before anything is planned

    def fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
        return {name: values[name] for name in kind.__struct_fields__ if name in values}

    named = [option for option in ("model", "module", "weights") if values["own" if option == "model" else option]]
    if len(named) > 1:
        raise LevelfieldError(
            f"{' and '.join(f'--{option}' for option in named)} exclude each other.", fix="They are two runs."
        )
    own = own_files.requested(values["own"], values["dims"], values["values"])
    if values["module"] is not None:
        own = python_file.keep(values["module"])
    typed, items = values.get("data", ()), values.get("data_items")
    if items is not None and not typed:
        raise LevelfieldError(
            "--data-items is about a data set, and none was given.", fix="Add --data imagenet=FOLDER, or leave it out."
        )
    if items is not None:
        typed = tuple(text.replace("=", f":{items}=", 1) for text in typed)
    requests = data_sets.read(typed, values["profile"])
    headed = any(request.texts for request in requests)
    given, models = own_weights.read(values["weights"], values["models"], headed=headed)
    models = data_sets.networks(models, requests)
    chosen = {"own": own, "own_weights": given, "models": models, "locked": values["launcher"] != "host"}
    return Options(
        **{
            **fields(Options),
            "data_sets": requests,
            "beside_data": tuple(values["weights"]),
        },
        selection=Selection(**{**fields(Selection), **chosen}),
        command=("levelfield", *without_paths(sys.argv[1:])),
    )
