"""What people may type to measure: each option once, with its help, its type, and how a record and a rerun repeat it.

Adding one is a declaration here, and a field of `plan.Selection` or `run.options.Options` that has its name.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from levelfield.errors import LevelfieldError
from levelfield.options import repeated
from levelfield.options.values import (
    CPU_LIST,
    DURATION,
    INJECTION,
    LOADGEN_TEST,
    NAMES,
    NUMBERS,
    PAIR,
    PERCENT,
    PRICE_PER_HOUR,
    SEED_NUMBER,
    Typed,
)
from levelfield.record.schema import Run

SECTIONS = ("Most used", "What to measure", "Arms", "How long and how sure", "Machine", "Results")
"""Of the help, in their order."""
BASIC, WHAT, ARMS, HOW_LONG, MACHINE, RESULTS = SECTIONS
F = TypeVar("F", bound=Callable[..., Any])
OPTIONS: dict[str, "Option"] = {}
"""All options that are declared here, by the name that is typed, in the order of the help and of a rerun."""
_Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
COMPLETERS: dict[str | None, _Completer] = {}
"""What completes a value, by the option's field: filled by the command, which knows all names."""


class Option(click.Option):
    """One option of the command line; as a decorator it adds itself to a command.

    `again` returns the value with which a rerun repeats what a run measured; none, or an empty one: it is left out.
    `recorded` returns what a record keeps of the value that was typed; None: neither it nor that it was typed.
    `in_file`: `levelfield.toml`, which may be a stranger's, may set it, since it says only what is measured and how
    much; one that says what is trusted, read, written or allowed is typed.
    """

    def __init__(
        self,
        *names: str,
        section: str = RESULTS,
        again: Callable[[Run], object] | None = None,
        recorded: Callable[[str], str | None] | None = None,
        in_file: bool = False,
        **settings: Any,  # noqa: ANN401  (those of click.Option)
    ) -> None:
        super().__init__(names, **settings)
        self.section, self.again, self.recorded, self.in_file = section, again, recorded or _without_path, in_file
        self._declared = {"section": section, "again": again, "recorded": recorded, "in_file": in_file, **settings}

    def __call__(self, command: F) -> F:
        """Add the option to a command's function."""
        command.__dict__.setdefault("__click_params__", []).append(self)
        return command

    def but(self, **changes: Any) -> "Option":  # noqa: ANN401
        """Return the same option for a command on which it differs a little."""
        return Option(*self.opts, *self.secondary_opts, self.name or "", **{**self._declared, **changes})

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a value by names that are known."""
        completer = COMPLETERS.get(self.name)
        return completer(ctx, self, incomplete) if completer else super().shell_complete(ctx, incomplete)

    def words(self, value: object) -> Iterator[str]:
        """Yield the words that are typed for a value; none for one that is not set."""
        if value is None or value in ((), "", False):
            return
        write = self.type.write if isinstance(self.type, Typed) else str
        for one in value if self.multiple and isinstance(value, Iterable) else (value,):
            yield from (self.opts[0],) if self.is_flag else (self.opts[0], write(one))


def own_folder(context: click.Context, parameter: click.Parameter, folder: Path) -> Path:
    """Refuse a default that leads out of the current folder, which may be a stranger's (LevelfieldError)."""
    default = context.get_parameter_source(parameter.name or "") is ParameterSource.DEFAULT
    if default and not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(".")):
        raise LevelfieldError(
            f"{folder} is a link that leads out of this folder.", fix=f"Name the folder with {parameter.opts[0]}."
        )
    return folder


def _declare(
    name: str,
    field: str,
    section: str,
    *,
    again: Callable[[Run], object] | str | None = None,
    **settings: Any,  # noqa: ANN401
) -> Option:
    """Declare an option; `again` may also be the name of the run's setting that a rerun repeats."""
    if isinstance(again, str):
        again = attrgetter(f"settings.{again}")
    if settings.get("type") in (NAMES, NUMBERS, CPU_LIST):
        settings["default"] = ()
    OPTIONS[name.partition("/")[0]] = option = Option(name, field, section=section, again=again, **settings)
    return option


def rerun(run: Run) -> str:
    """Spell out every setting of a run as one command line, which measures the same plan again."""
    if run.imported is not None:
        return "levelfield import FILE"  # its own name is not kept; the record has its SHA-256
    pair = repeated.pair(run)
    words = ["levelfield", *(["ab", *pair] if pair else ["bench"])]
    for option in OPTIONS.values():
        if option.again is not None:
            words += option.words(option.again(run))
    return shlex.join(words)


def without_paths(words: Iterable[str]) -> list[str]:
    """Return a command's words without what names this machine or its user."""
    kept: list[str] = []
    name = ""
    for word in words:
        named = word.startswith("-")
        name, sign, value = word.partition("=") if named else (name, "", word)
        option = OPTIONS.get(name)
        shown = option.recorded(value) if option else _without_path(value)
        if shown is not None:
            kept.append((f"{name}{sign}" if named else "") + (shown if value else ""))
        if sign or not named:
            name = ""
    return [word.encode(errors="replace").decode() for word in kept]


def typed(words: Iterable[str]) -> dict[str, list[str]]:
    """Return the options of a command line by name, each with the values that were typed."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("-"):
            name, sign, value = word.partition("=")
            found.setdefault(name, []).extend([value] if sign else [])
            name = "" if sign or (name in OPTIONS and OPTIONS[name].is_flag) else name
        elif name:
            found[name].append(word)
            name = ""
    return found


def contradicting(run: Run, command: Iterable[str]) -> list[str]:
    """Return the options of a command line that ask for something else than what a run was begun with, by name."""
    found: list[str] = []
    begun = typed(run.command)
    for name, values in typed(command).items():
        option = OPTIONS.get(name)
        if option is None or option in {BUDGET, MAX_SLOWDOWN} or begun.get(name) == values:
            continue
        if option is IDENTIFY:
            found += [] if "identity" in run.machine else [name]
        elif option.again is not None and typed(option.words(option.again(run))).get(name) != values:
            found.append(name)
    return found


def _without_path(value: str) -> str:
    named = value.startswith(("/", "~", "./", "../")) or ("/" in value and os.path.exists(value))  # noqa: PTH110
    return last_name(value) if named else value


def last_name(value: str) -> str:
    """`encoder.onnx` for `/home/someone/encoder.onnx`, FOLDER for a folder."""
    return "FOLDER" if os.path.isdir(value) else PurePath(value).name  # noqa: PTH112  (a word of any length)


def _pair(value: str) -> str:
    """`x=x.npy` for `x=/home/someone/x.npy`."""
    name, sign, path = value.partition("=")
    return f"{name}{sign}{last_name(path)}"


def _private(value: str) -> None:
    del value


# A table, with an entry for each option.
# fmt: off
PROFILE = _declare("--profile", "profile", BASIC, in_file=True, default="standard", again="profile",
    help="smoke, standard or full: what is measured, and how often (see `levelfield list profiles`).")
MODELS = _declare("--models", "models", BASIC, in_file=True, type=NAMES, again=repeated.models,
    help="Only these models, separated by commas.")
OWN = _declare("--model", "own", BASIC, metavar="FILE", multiple=True, again=repeated.own, recorded=last_name,
    help="Your own: an ONNX file; FILE.py:FUNCTION (or several: FILE.py:F,G), which returns a network in "
         "PyTorch, JAX or TensorFlow with its inputs; or a folder with config.json and safetensors (may be repeated).")
INPUT = _declare("--input", "inputs", WHAT, type=PAIR, multiple=True, again=repeated.inputs, recorded=_pair,
    help="Values of an input of your ONNX file (tokens=tokens.npy; default: seeded random ones), or the size of a "
         "dynamic dimension, or several (sequence=32,128). May be repeated.")
BACKENDS = _declare("--backends", "backends", BASIC, in_file=True, type=NAMES,
    again=lambda run: () if repeated.pair(run) else tuple(map(repeated.typable, run.settings.backends)),
    help="Only these backends, separated by commas.")
SCENARIOS = _declare("--scenarios", "scenarios", BASIC, in_file=True, type=NAMES,
    again=lambda run: () if repeated.by_profile(run) else run.settings.scenarios,
    help="Only these: latency, throughput, … (`levelfield list scenarios`).")
PRECISION = _declare("--precision", "precisions", BASIC, in_file=True, type=NAMES, again="precisions",
    help="fp32, bf16, int8; on GPUs also tf32 and fp16. Each precision is ranked separately.")
THREADS = _declare("--threads", "threads", BASIC, in_file=True, type=NUMBERS,
    again=lambda run: run.settings.thread_counts or (run.settings.threads,),
    help="Threads of each worker, or several numbers; default: one per core.")
CPUS = _declare("--cpus", "cpus", MACHINE, in_file=True, type=CPU_LIST, again="cpus_requested",
    help="CPUs to choose from: a list such as 0-15, or all. Default: those of one NUMA node and one kind of core.")
PROCESSES = _declare("--processes", "processes", MACHINE, in_file=True, type=NUMBERS, again="process_counts",
    help="Processes that train one model together, or several numbers; --threads is per process.")
DEPTHS = _declare("--depths", "depths", WHAT, in_file=True, type=NUMBERS, again="depths",
    help="Tokens of the prompt in prefill, decode and generate, or several numbers.")
KV_CACHE = _declare("--kv-cache", "kv_caches", WHAT, in_file=True, type=NAMES, again="kv_caches",
    help="Their cache of keys and values: static (of a fixed size, the default), growing, or both, ranked apart.")
BATCH = _declare("--batch", "batches", WHAT, in_file=True, type=NUMBERS, again=repeated.batches,
    help="Batch sizes of throughput (2 or more) and training.")
CONTROL = _declare("--control", "control", ARMS, in_file=True, default="auto", again=repeated.control,
    help="Backend to measure twice, as a control; auto or none.")
INJECT = _declare("--inject", "inject", ARMS, type=INJECTION, hidden=True,
    again=lambda run: next(iter(repeated.injected(run)), None),
    help="Slow one arm down, to test the method: 5%@onnxruntime#2.")
BUDGET = _declare("--budget", "budget_seconds", BASIC, in_file=True, type=DURATION, again="budget_seconds",
    help="Time to measure, such as 90s, 10m or 2h: no pass over the cases is begun that would end later.")
UNTIL = _declare("--until", "until_seconds", HOW_LONG, in_file=True, type=DURATION,
    help="End so long after the start, images included, with what is ranked by then; measures latency unless named.")
SO_FAR = _declare("--so-far/--no-so-far", "so_far", HOW_LONG, default=True, hidden=True,
    help="Rank two backends first, in a run of their own, before the images of the others are made.")
PRECISION_TARGET = _declare("--precision-target", "precision_target", HOW_LONG, in_file=True, type=PERCENT,
    again="precision_target",
    help="Continue until every ratio is known to ± this.")
MARGIN = _declare("--margin", "margin", HOW_LONG, type=PERCENT, default="2%", again="margin",
    help="Smaller differences count as no difference.")
MAX_SLOWDOWN = _declare("--max-slowdown", "max_slowdown", HOW_LONG, type=PERCENT, again="max_slowdown",
    help="Only a slowdown that is shown to exceed this is worse, such as 3%.")
DATA = _declare("--data", "data", WHAT, metavar="SET[:N]=PATH", multiple=True, again=repeated.data, recorded=_private,
    help="imagenet=FOLDER, squad=FILE or glue-sst2=FOLDER: judge answers on N items of a data set, or all; default: "
         "32 in smoke, 500 in standard, all in full. May be repeated.")
TARGET = _declare("--target", "target", WHAT, in_file=True, type=PERCENT, again="target",
    help="Accuracy at which convergence ends, such as 90%.")
LOADGEN = _declare("--loadgen", "loadgen", WHAT, in_file=True, type=LOADGEN_TEST, again=repeated.loadgen,
    help="MLPerf LoadGen: latency=50ms is what the 99th percentile must hold in loadgen-server (default: by MLPerf's "
         "rules), test=10m the shortest test (default: by profile; MLPerf's rules ask for 10m).")
PRICE = _declare("--price", "price", RESULTS, type=PRICE_PER_HOUR, again="price",
    help="What an hour of this machine costs, such as 1.20/h or 1.20EUR/h: shows the cost of a million items.")
RESUME = _declare("--resume", "resume", HOW_LONG, metavar="RUN", recorded=last_name,
    help="Continue a run that was interrupted, or whose budget was spent: --budget is then the time from here on.")
SEED = _declare("--seed", "seed", HOW_LONG, type=SEED_NUMBER, again=lambda run: str(run.settings.seed),
    help="Seed of the schedule; it is stored in the record.")
STRICT = _declare("--strict", "strict", HOW_LONG, is_flag=True,
    help="Exit with 3 if something could not be ranked.")
DRY_RUN = _declare("--dry-run", "dry_run", HOW_LONG, is_flag=True,
    help="Only say what would be fetched, built and measured, with sizes and times.")
YES = _declare("--yes", "yes", HOW_LONG, is_flag=True,
    help="Make images of more than 1 GB without a question; without a terminal there is none.")
LAUNCHER = _declare("--launcher", "launcher", BASIC, type=click.Choice(["docker", "venv", "host"]), again="launcher",
    help="Where to run workers; default: docker if a container engine answers, else venv.")
VARIANT = _declare("--variant", "variant", MACHINE, in_file=True, default="auto", again=repeated.variant,
    help="cpu or a CUDA variant (cu12, cu13); auto: the newest one that this machine's GPU runs, cpu without a GPU.")
GPU = _declare("--gpu", "gpu", MACHINE, in_file=True, metavar="INDEX|UUID",
    again=lambda run: None if run.settings.gpu is None else str(run.settings.gpu),
    recorded=lambda value: value if not value or value.isdigit() else "UUID",
    help="The one GPU to use; `levelfield doctor` lists them.")


def _base_source(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value in {"debian", "registry"}:
        return value
    if not Path(value).is_dir():
        raise click.BadParameter(f"{value!r} is neither debian nor registry, and no folder.")
    return str(Path(value).resolve())


BASE = _declare("--base", "base", MACHINE, metavar="SOURCE", default="debian", callback=_base_source, hidden=True,
    help="Base of the images: debian (locked packages), registry (an image by its digest), or a folder with locks.")
IDENTIFY = _declare("--identify", "identify", RESULTS, is_flag=True, hidden=True,
    help="Store this host's name in the record.")
REPORTS = _declare("--reports", "reports", BASIC, in_file=True, type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"), recorded=_private, callback=own_folder,
    help="Folder of runs and baselines.")
OUTPUT = _declare("--output", "output", RESULTS, multiple=True, type=click.Path(path_type=Path, dir_okay=False),
    recorded=_private,
    help="Also write the comparison to a file: .md, .xml (JUnit), .json, .html or .txt. May be repeated.")
FORMAT = _declare("--format", "format_", RESULTS,
    type=click.Choice(["terminal", "markdown", "junit", "json", "html"]),
    help="Format to print; also that of an --output file with an unknown suffix.")
CSV = _declare("--csv", "csv_file", RESULTS, metavar="FILE", recorded=_private,
    help="Write CSV to this file; - for the terminal.")
SIGN = _declare("--sign", "sign", RESULTS, metavar="KEY",
    type=click.Path(path_type=Path, exists=True, dir_okay=False), recorded=_private,
    help="Sign the run's statement with this SSH key.")
JSON = _declare("--json", "as_json", RESULTS, is_flag=True,
    help="Print JSON to stdout, and all else to stderr (schema: `levelfield schema COMMAND`).")
# fmt: on
_SELECTION = (
    *(PROFILE, MODELS, OWN, INPUT, SCENARIOS, PRECISION, BATCH, DEPTHS, KV_CACHE, THREADS, CPUS, PROCESSES),
    *(VARIANT, GPU, INJECT, BUDGET, PRECISION_TARGET, MARGIN, LAUNCHER, BASE, REPORTS, IDENTIFY),
)


def selection(command: F) -> F:
    """Add what all commands that measure have in common."""
    for option in reversed(_SELECTION):
        command = option(command)
    return command
