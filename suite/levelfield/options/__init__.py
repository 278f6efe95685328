"""What people may type to measure: each option once, with its help, its type, and how a record and a rerun repeat it.

Adding one is a declaration here, and a field of `plan.Selection` or `run.options.Options` that has its name.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

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
    LoadGen,
    Typed,
)
from levelfield.record.schema import Arm, Run

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
    """

    def __init__(
        self,
        *names: str,
        section: str = RESULTS,
        again: Callable[[Run], object] | None = None,
        recorded: Callable[[str], str | None] | None = None,
        **settings: Any,  # noqa: ANN401  (those of click.Option)
    ) -> None:
        super().__init__(names, **settings)
        self.section, self.again, self.recorded = section, again, recorded or _without_path
        self._declared = {"section": section, "again": again, "recorded": recorded, **settings}

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


def _declare(*names: str, **settings: Any) -> Option:  # noqa: ANN401
    option = Option(*names, **settings)
    OPTIONS[option.opts[0]] = option
    return option


def rerun(run: Run) -> str:
    """Spell out every setting of a run as one command line, which measures the same plan again."""
    if run.imported is not None:
        return "levelfield import FILE"  # its own name is not kept; the record has its SHA-256
    pair = _pair(run)
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


def _without_path(value: str) -> str:
    return last_name(value) if value.startswith(("/", "~", "./", "../")) else value


def last_name(value: str) -> str:
    """`encoder.onnx` for `/home/someone/encoder.onnx`, `x=x.npy` for `x=/home/someone/x.npy`, FOLDER for a folder."""
    name, sign, path = value.rpartition("=")
    return "FOLDER" if value and not sign and Path(value).is_dir() else f"{name}{sign}{PurePath(path).name}"


def _private(value: str) -> None:
    del value


def _arms(run: Run) -> dict[str, Arm]:
    return {arm.id: arm for block in run.blocks for arm in block.arms}


def _pair(run: Run) -> list[str]:
    """Return how the arms of an `ab` are named; empty: it was none."""
    arms = list(_arms(run))
    return [_typable(arms[0]), _typable(arms[1].partition("#")[0])] if "ab" in run.labels and len(arms) == 2 else []


def _typable(arm: str) -> str:
    """Leave out the variant of the `host` launcher, which means any CUDA that was installed."""
    return arm.replace("@cuda", "")


def _models(run: Run) -> Sequence[str]:
    """Return the models, by their families where weights are the user's own."""
    if run.settings.own is not None:
        return ()
    own = {weights.model: weights.model.partition("-")[0] for weights in run.settings.own_weights}
    return tuple(dict.fromkeys(own.get(name, name) for name in run.settings.models))


def _own(run: Run) -> list[str]:
    """Return the user's own file by its name, since records hold no path; `reproduce` checks its digest."""
    own = run.settings.own
    file = [] if own is None else [f"{own.file}:{own.function}" if own.function else own.file]
    return [*file, *("FOLDER" for _ in run.settings.own_weights)]


def _inputs(run: Run) -> list[tuple[str, str]]:
    own = run.settings.own
    if own is None or own.function:
        return []
    sizes = [(name, str(size)) for name, size in own.dimensions.items()]
    return sizes + [(given.name, f"{given.sha256[:12]}.npy") for given in own.inputs if given.sha256]


def _by_profile(run: Run) -> bool:
    """Whether batches are of some models only: a profile takes them of itself, a scenario that is named takes all."""
    return bool(run.settings.batches) and set(run.settings.batches) != set(run.settings.models)


def _batches(run: Run) -> Sequence[int]:
    parts = run.settings.batches, run.settings.training_batches, run.settings.decoding_batches
    batches = {sizes for part in parts for sizes in part.values()}
    # A size for every model differs by profile alone, which is named.
    return batches.pop() if len(batches) == 1 and not _by_profile(run) else ()


def _control(run: Run) -> str:
    if _pair(run):
        return ""
    return next((arm.backend for arm in _arms(run).values() if arm.ordinal > 1), "none")


def _injected(run: Run) -> list[tuple[str, str]]:
    return [(arm.inject, name) for name, arm in _arms(run).items() if arm.inject]


def _loadgen(run: Run) -> LoadGen | None:
    tests = LoadGen(run.settings.latency_target_ms, run.settings.loadgen_test_s)
    return tests if any(tests) else None


def _data(run: Run) -> list[str]:
    counts = {data.task: len(data.items) if len(data.items) < data.available else "all" for data in run.data_sets}
    return [f"{task}:{count}=PATH" for task, count in counts.items()]


PROFILE = _declare(
    *("--profile", "profile"),
    section=BASIC,
    default="standard",
    again=lambda run: run.settings.profile,
    help="smoke, standard or full: what is measured, and how often (see `levelfield list profiles`).",
)
MODELS = _declare(
    *("--models", "models"),
    section=BASIC,
    type=NAMES,
    default=(),
    again=_models,
    help="Only these models, separated by commas.",
)
OWN = _declare(
    *("--model", "own"),
    section=BASIC,
    metavar="FILE",
    multiple=True,
    again=_own,
    recorded=last_name,
    help="Your own: an ONNX file; FILE.py:FUNCTION, which returns a network in PyTorch, JAX or TensorFlow with its "
    "inputs; or a folder with config.json and safetensors (may be repeated).",
)
INPUT = _declare(
    *("--input", "inputs"),
    section=WHAT,
    type=PAIR,
    multiple=True,
    again=_inputs,
    recorded=last_name,
    help="Values of an input of your ONNX file (tokens=tokens.npy; default: seeded random ones), or the size of a "
    "dynamic dimension (sequence=128). May be repeated.",
)
BACKENDS = _declare(
    *("--backends", "backends"),
    section=BASIC,
    type=NAMES,
    default=(),
    again=lambda run: () if _pair(run) else tuple(map(_typable, run.settings.backends)),
    help="Only these backends, separated by commas.",
)
SCENARIOS = _declare(
    *("--scenarios", "scenarios"),
    section=BASIC,
    type=NAMES,
    default=(),
    again=lambda run: () if _by_profile(run) else run.settings.scenarios,
    help="Only these: latency, throughput, … (`levelfield list scenarios`).",
)
PRECISION = _declare(
    *("--precision", "precisions"),
    section=BASIC,
    type=NAMES,
    default=(),
    again=lambda run: run.settings.precisions,
    help="fp32, bf16, int8; on GPUs also tf32 and fp16. Each precision is ranked separately.",
)
THREADS = _declare(
    *("--threads", "threads"),
    section=BASIC,
    type=NUMBERS,
    default=(),
    again=lambda run: run.settings.thread_counts or (run.settings.threads,),
    help="Threads of each worker, or several numbers; default: one per core.",
)
CPUS = _declare(
    *("--cpus", "cpus"),
    section=MACHINE,
    type=CPU_LIST,
    default=(),
    again=lambda run: run.settings.cpus_requested,
    help="CPUs to choose from: a list such as 0-15, or all. Default: those of one NUMA node and one kind of core.",
)
PROCESSES = _declare(
    *("--processes", "processes"),
    section=MACHINE,
    type=NUMBERS,
    default=(),
    again=lambda run: run.settings.process_counts,
    help="Processes that train one model together, or several numbers; --threads is per process.",
)
DEPTHS = _declare(
    *("--depths", "depths"),
    section=WHAT,
    type=NUMBERS,
    default=(),
    again=lambda run: run.settings.depths,
    help="Tokens of the prompt in prefill, decode and generate, or several numbers.",
)
KV_CACHE = _declare(
    *("--kv-cache", "kv_caches"),
    section=WHAT,
    type=NAMES,
    default=(),
    again=lambda run: run.settings.kv_caches,
    help="Their cache of keys and values: static (of a fixed size, the default), growing, or both, ranked apart.",
)
BATCH = _declare(
    *("--batch", "batches"),
    section=WHAT,
    type=NUMBERS,
    default=(),
    again=_batches,
    help="Batch sizes of throughput (2 or more) and training.",
)
CONTROL = _declare(
    *("--control", "control"),
    section=ARMS,
    default="auto",
    again=_control,
    help="Backend to measure twice, as a control; auto or none.",
)
INJECT = _declare(
    *("--inject", "inject"),
    section=ARMS,
    type=INJECTION,
    hidden=True,
    again=lambda run: next(iter(_injected(run)), None),
    help="Slow one arm down, to test the method: 5%@onnxruntime#2.",
)
BUDGET = _declare(
    *("--budget", "budget_seconds"),
    section=BASIC,
    type=DURATION,
    again=lambda run: run.settings.budget_seconds,
    help="Time to measure, such as 90s, 10m or 2h: no pass over the cases is begun that would end later.",
)
UNTIL = _declare(
    *("--until", "until_seconds"),
    section=HOW_LONG,
    type=DURATION,
    help="End so long after the start, images included, with what is ranked by then; measures latency unless named.",
)
SO_FAR = _declare(
    *("--so-far/--no-so-far", "so_far"),
    section=HOW_LONG,
    default=True,
    hidden=True,
    help="Rank two backends first, in a run of their own, before the images of the others are made.",
)
PRECISION_TARGET = _declare(
    *("--precision-target", "precision_target"),
    section=HOW_LONG,
    type=PERCENT,
    again=lambda run: run.settings.precision_target,
    help="Continue until every ratio is known to ± this.",
)
MARGIN = _declare(
    *("--margin", "margin"),
    section=HOW_LONG,
    type=PERCENT,
    default="2%",
    again=lambda run: run.settings.margin,
    help="Smaller differences count as no difference.",
)
MAX_SLOWDOWN = _declare(
    *("--max-slowdown", "max_slowdown"),
    section=HOW_LONG,
    type=PERCENT,
    help="Only a slowdown that is shown to exceed this is worse, such as 3%.",
)
DATA = _declare(
    *("--data", "data"),
    section=WHAT,
    metavar="SET[:N]=PATH",
    multiple=True,
    again=_data,
    recorded=_private,
    help="imagenet=FOLDER, squad=FILE or glue-sst2=FOLDER: judge answers on N items of a data set, or all; default: 32 "
    "in smoke, 500 in standard, all in full. May be repeated.",
)
TARGET = _declare(
    *("--target", "target"),
    section=WHAT,
    type=PERCENT,
    again=lambda run: run.settings.target,
    help="Accuracy at which convergence ends, such as 90%.",
)
LOADGEN = _declare(
    *("--loadgen", "loadgen"),
    section=WHAT,
    type=LOADGEN_TEST,
    again=_loadgen,
    help="MLPerf LoadGen: latency=50ms is what the 99th percentile must hold in loadgen-server (default: by MLPerf's "
    "rules), test=10m the shortest test (default: by profile; MLPerf's rules ask for 10m).",
)
PRICE = _declare(
    *("--price", "price"),
    section=RESULTS,
    type=PRICE_PER_HOUR,
    again=lambda run: run.settings.price,
    help="What an hour of this machine costs, such as 1.20/h or 1.20EUR/h: shows the cost of a million items.",
)
RESUME = _declare(
    *("--resume", "resume"),
    section=HOW_LONG,
    metavar="RUN",
    help="Continue an interrupted run.",
)
SEED = _declare(
    *("--seed", "seed"),
    section=HOW_LONG,
    type=SEED_NUMBER,
    again=lambda run: str(run.settings.seed),
    help="Seed of the schedule; it is stored in the record.",
)
STRICT = _declare(
    *("--strict", "strict"),
    section=HOW_LONG,
    is_flag=True,
    help="Exit with 3 if something could not be ranked.",
)
LAUNCHER = _declare(
    *("--launcher", "launcher"),
    section=BASIC,
    type=click.Choice(["docker", "venv", "host"]),
    again=lambda run: run.settings.launcher,
    help="Where to run workers; default: docker if a container engine answers, else venv.",
)
VARIANT = _declare(
    *("--variant", "variant"),
    section=MACHINE,
    default="auto",
    again=lambda run: "cpu" if run.settings.gpu is None else "",  # left to choose, a machine with a GPU would take it
    help="cpu or a CUDA variant (cu12, cu13); auto: the newest one that this machine's GPU runs, cpu without a GPU.",
)
GPU = _declare(
    *("--gpu", "gpu"),
    section=MACHINE,
    metavar="INDEX|UUID",
    again=lambda run: None if run.settings.gpu is None else str(run.settings.gpu),
    recorded=lambda value: value if not value or value.isdigit() else "UUID",
    help="The one GPU to use; `levelfield doctor` lists them.",
)


def _base_source(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value in {"debian", "registry"}:
        return value
    if not Path(value).is_dir():
        raise click.BadParameter(f"{value!r} is neither debian nor registry, and no folder.")
    return str(Path(value).resolve())


BASE = _declare(
    *("--base", "base"),
    section=MACHINE,
    metavar="SOURCE",
    default="debian",
    callback=_base_source,
    hidden=True,
    help="Base of the images: debian (locked packages), registry (an image by its digest), or a folder with locks.",
)
IDENTIFY = _declare(
    *("--identify", "identify"),
    section=RESULTS,
    is_flag=True,
    hidden=True,
    help="Store this host's name in the record.",
)
REPORTS = _declare(
    *("--reports", "reports"),
    section=BASIC,
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    recorded=_private,
    help="Folder of runs and baselines.",
)
OUTPUT = _declare(
    *("--output", "output"),
    section=RESULTS,
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the comparison to a file: .md, .xml (JUnit), .json, .html or .txt. May be repeated.",
)
FORMAT = _declare(
    *("--format", "format_"),
    section=RESULTS,
    type=click.Choice(["terminal", "markdown", "junit", "json", "html"]),
    help="Format to print; also that of an --output file with an unknown suffix.",
)
CSV = _declare(
    *("--csv", "csv_file"), section=RESULTS, metavar="FILE", help="Write CSV to this file; - for the terminal."
)
SIGN = _declare(
    *("--sign", "sign"),
    section=RESULTS,
    metavar="KEY",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    recorded=_private,
    help="Sign the run's statement with this SSH key.",
)
JSON = _declare(
    *("--json", "as_json"),
    section=RESULTS,
    is_flag=True,
    help="Print JSON to stdout, and all else to stderr (schema: `levelfield schema COMMAND`).",
)
_SELECTION = (
    *(PROFILE, MODELS, OWN, INPUT, SCENARIOS, PRECISION, BATCH, DEPTHS, KV_CACHE, THREADS, CPUS, PROCESSES),
    *(VARIANT, GPU, INJECT, BUDGET, PRECISION_TARGET, MARGIN, LAUNCHER, BASE, REPORTS, IDENTIFY),
)


def selection(command: F) -> F:
    """Add what all commands that measure have in common."""
    for option in reversed(_SELECTION):
        command = option(command)
    return command
