"""The options of the commands that measure."""

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images.base import Source
from levelfield.options.registry import typed, without_paths
from levelfield.options.values import LoadGen
from levelfield.paths import cache_root
from levelfield.plan import Selection
from levelfield.prepare.own_model import python_file
from levelfield.prepare.own_model import store as own_files
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record.schema import DataSet, Price
from levelfield.schedule import data_sets
from levelfield.schedule.data_sets import DataRequest


class Options(msgspec.Struct, frozen=True):
    """What to measure, and how; its fields, and those of `Selection`, have the names of `levelfield.options`."""

    selection: Selection = Selection()
    reports: Path = Path("reports")
    launcher: str | None = None
    """None: containers, or virtual environments where no engine answers."""
    base: Source = "debian"
    resume: str | None = None
    budget_seconds: float | None = None
    until_seconds: float | None = None
    """From the start of the command to its end, with all that has to be made before; None: there is no such end."""
    so_far: bool = False
    """Whether two backends are ranked first, where the images of the others are still to be made."""
    by_clock: bool = True
    """Whether passes are added as long as there is time, where the profile does so."""
    precision_target: float | None = None
    ends_on_verdict: bool = False
    """Each block is finished as soon as it has a verdict (`ab`)."""
    margin: float = 0.02
    max_slowdown: float | None = None
    """Of the gate of an `ab`."""
    seed: int | None = None
    """Of the schedule; None: drawn."""
    identify: bool = False
    command: tuple[str, ...] = ()
    """As the record holds it."""
    launcher_reason: str = ""
    """Why this launcher, where it is not the user's own choice."""
    go_on: str = "levelfield bench --resume {run}"
    """What continues a run that was interrupted; `{run}` stands for its name."""
    labels: tuple[str, ...] = ()
    target: float | None = None
    """Accuracy that is trained to; None: that of each network."""
    data_sets: tuple[DataRequest, ...] = ()
    """Data sets that answers are judged on."""
    beside_data: tuple[Path, ...] = ()
    """Folders in which a vocabulary may be, where it is not beside the data: those of the weights."""
    expected_data: tuple[DataSet, ...] = ()
    """What an earlier run answered, which this one repeats."""
    strict: bool = False
    """Results that are not decided change the exit code."""
    loadgen_test_s: float | None = None
    """Shortest test of MLPerf LoadGen; None: that of the profile."""
    latency_target_ms: float | None = None
    """Of LoadGen's Server scenario; None: that of MLPerf's rules."""
    price: Price | None = None
    """Of an hour of this machine."""
    dry_run: bool = False
    """Say what would be made and measured, and end."""
    yes: bool = True
    """Large images are made without a question."""


class Own(msgspec.Struct, frozen=True):
    """What values of `--model` name."""

    onnx: Path | None = None
    function: str | None = None
    """FILE.py:FUNCTION."""
    weights: tuple[Path, ...] = ()


def elsewhere(reports: Path) -> str:
    """Return the option by which a command finds runs that are not where it looks by itself, with a blank before it."""
    return "" if reports == Options().reports else f" --reports {shlex.quote(str(reports))}"


def again(folder: Path, command: Iterable[str]) -> str:
    """Return the words that name a run to go on with, and the launcher that was typed for it."""
    launchers = "".join(f" --launcher {shlex.quote(each)}" for each in typed(command).get("--launcher", []))
    return f"{shlex.quote(folder.name)}{elsewhere(folder.parent)}{launchers}"


def own_of(values: Sequence[str]) -> Own:
    """Tell the kinds of a user's own models apart, by their form.

    Raises LevelfieldError: several are named, and are not all folders.
    """
    functions = [value for value in values if re.search(r"\.py(:[^/]*)?$", value)]
    folders = [value for value in values if value not in functions and (value.endswith("/") or Path(value).is_dir())]
    files = [value for value in values if value not in (*functions, *folders)]
    if len(functions) + len(files) + bool(folders) > 1:
        raise LevelfieldError(f"--model {' and --model '.join(values)} exclude each other.", fix="They are two runs.")
    return Own(next(map(Path, files), None), next(iter(functions), None), tuple(map(Path, folders)))


def options_of(values: Mapping[str, Any]) -> Options:
    """Return typed values, by the fields of options, as the options of a run.

    Raises LevelfieldError: the cache folder cannot be made, or a file of the user's own cannot be measured.
    """
    if not values.get("dry_run"):
        cache_root()  # without one nothing can be prepared: that is said before anything is planned

    def fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
        return {name: values[name] for name in kind.__struct_fields__ if name in values}

    named = own_of(values["own"])
    own = own_files.requested(named.onnx, values["inputs"])
    if named.function is not None:
        own = python_file.keep(named.function)
    requests = data_sets.read(values.get("data", ()), values["profile"])
    headed = any(request.texts for request in requests)
    given, models = own_weights.read(named.weights, values["models"], headed=headed)
    models = data_sets.networks(models, requests)
    chosen = {"own": own, "own_weights": given, "models": models, "locked": values["launcher"] != "host"}
    return Options(
        **{
            **fields(Options),
            **(values.get("loadgen") or LoadGen())._asdict(),
            "data_sets": requests,
            "beside_data": named.weights,
        },
        selection=Selection(**{**fields(Selection), **chosen}),
        command=("levelfield", *without_paths(sys.argv[1:])),
    )
