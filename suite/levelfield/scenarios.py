"""What can be measured: one table, which planning, the schedule, the analysis and all reports read."""

import functools
from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

import msgspec

from levelfield.zoo.decoding import STEPS

ScenarioName: TypeAlias = Literal[
    "latency",
    "throughput",
    "prefill",
    "decode",
    "generate",
    "operators",
    "training",
    "convergence",
    "data-pipeline",
    "cold-start",
    "memory",
    "loadgen-single-stream",
    "loadgen-multi-stream",
    "loadgen-server",
    "loadgen-offline",
    "latency-device",
    "throughput-device",
]
NAMES: tuple[ScenarioName, ...] = get_args(ScenarioName)
"""In the order in which they are listed."""
Sample: TypeAlias = Literal["window", "cold start", "peak memory", "training run", "LoadGen test"]
"""What one measurement of an arm is: a window of timed calls, a whole launch of one of three kinds, or what MLPerf
LoadGen measured in a launch."""


class Scenario(msgspec.Struct, frozen=True):
    """One scenario. Less is better in all of them."""

    name: ScenarioName
    """As records and command lines have it."""
    title: str
    """Heading on a page."""
    phrase: str
    """What is measured, in the middle of a sentence."""
    sample: Sample = "window"
    """It decides how a turn is taken and how the block is analysed."""
    unit: Literal["ns", "bytes"] = "ns"
    """Of the value that arms are compared by, as records keep it."""
    per_item: bool = False
    """The time of an item counts, not that of a call."""
    batched: bool = False
    """It is measured at the requested batch sizes; else with one item a call, or with batches of its own."""
    trains: bool = False
    """Calls are steps of training."""
    on_device: bool = False
    """Inputs and outputs stay in the accelerator's memory; else they are NumPy arrays in the host's."""
    decodes: Literal["", "prefill", "decode", "generate"] = ""
    """What a call computes of tokens, one by one (`zoo.decoding.Call`); empty: nothing of the kind."""
    items_per_input: int = 1
    """Items that one input of a call counts as, where the time of an item counts."""
    item: str = "item"
    """What an item is called."""
    note: str = ""
    """What must be known to read its figures; empty: nothing more."""
    operators: bool = False
    """It measures single operators, and no networks."""
    from_dataset: bool = False
    """Batches come from a dataset on disk."""
    profiled: bool = False
    """`levelfield explain` can profile it: single calls between host memory and host memory."""
    driven_as: Literal["", "SingleStream", "MultiStream", "Server", "Offline"] = ""
    """Scenario of MLPerf LoadGen that sends the queries; empty: the worker makes the calls itself."""
    batch: int = 1
    """Items in each call, where neither the user nor the model says how many."""
    loaded_as: str = ""
    """Scenario that a worker loads for, where loading is the same; empty: this one."""
    not_of_a_file: str = ""
    """Why a user's own ONNX file cannot be measured in it; empty: it can."""

    @property
    def in_fp32_alone(self) -> bool:
        """Whether no other precision is measured."""
        return bool(self.decodes or self.operators)

    @property
    def learns(self) -> bool:
        """Whether a network is trained: by steps that are timed, or to a target."""
        return self.trains or self.to_target

    @property
    def timed(self) -> bool:
        """Whether single calls are timed, in windows."""
        return self.sample == "window"

    @property
    def to_target(self) -> bool:
        """Whether a network is trained until it reaches a target accuracy."""
        return self.sample == "training run"

    @property
    def driven(self) -> bool:
        """Whether MLPerf LoadGen sends the queries."""
        return bool(self.driven_as)

    @property
    def first_calls(self) -> bool:
        """Whether the start of a launch is measured: then the launch may measure nothing before."""
        return self.sample in {"cold start", "peak memory"}

    @property
    def serves(self) -> bool:
        """Whether it times plain calls of a loaded model, from host memory to host memory."""
        return self.timed and not (self.trains or self.on_device or self.from_dataset or self.decodes)


_NO_CACHE = "a file says nothing of a cache"
_NO_TRAINING = "a file says how to answer, not how to train"
_loadgen = functools.partial(
    Scenario,
    sample="LoadGen test",
    loaded_as="latency",
    not_of_a_file="LoadGen is given the inputs of the built-in models alone",
)
SCENARIOS: tuple[Scenario, ...] = (
    Scenario("cold-start", "Cold start", "cold start", sample="cold start", loaded_as="latency"),
    Scenario("memory", "Memory", "peak memory", sample="peak memory", unit="bytes", loaded_as="latency"),
    Scenario("latency", "Latency", "latency", profiled=True),
    Scenario("throughput", "Throughput", "throughput", per_item=True, batched=True, profiled=True, loaded_as="latency"),
    Scenario(
        "prefill",
        "Prefill",
        "prefill (time to first token)",
        decodes="prefill",
        note="A call computes a prompt of so many tokens and keeps their keys and values: the time to the first token.",
        not_of_a_file=_NO_CACHE,
    ),
    Scenario(
        "decode",
        "Decode",
        "decode (inter-token latency)",
        decodes="decode",
        note="A call computes one token that follows so many in the cache: the inter-token latency.",
        not_of_a_file=_NO_CACHE,
    ),
    Scenario(
        "generate",
        "Generate",
        "generate (time per output token)",
        per_item=True,
        items_per_input=STEPS,
        item="token",
        note=(
            f"A call computes {STEPS} tokens of each sequence, one after the other, from given tokens. The time per "
            "output token is batch ÷ tokens/s: (end − first) / (n − 1) of the n tokens that follow the prompt, the "
            "first of which the prompt's own call gives, untimed."
        ),
        decodes="generate",
        not_of_a_file=_NO_CACHE,
    ),
    Scenario(
        "operators",
        "Operators",
        "latency of an operator",
        operators=True,
        profiled=True,
        loaded_as="latency",
        not_of_a_file="a file is a network",
    ),
    Scenario("training", "Training", "training", per_item=True, trains=True, profiled=True, not_of_a_file=_NO_TRAINING),
    Scenario("convergence", "Time to accuracy", "time to accuracy", sample="training run", not_of_a_file=_NO_TRAINING),
    # Its rate is not 1 ÷ latency: a dataset may be read one item at a time, the next one during the call.
    Scenario(
        "data-pipeline",
        "Data pipeline",
        "throughput from a dataset",
        per_item=True,
        batched=True,
        from_dataset=True,
        not_of_a_file="there is no dataset for it",
    ),
    _loadgen(
        "loadgen-single-stream",
        "LoadGen SingleStream",
        "LoadGen SingleStream (90th percentile of a query)",
        driven_as="SingleStream",
    ),
    _loadgen(
        "loadgen-multi-stream",
        "LoadGen MultiStream",
        "LoadGen MultiStream (99th percentile of a query of eight samples)",
        driven_as="MultiStream",
        batch=8,
    ),
    _loadgen(
        "loadgen-server",
        "LoadGen Server",
        "LoadGen Server (time per query at the highest rate that holds the latency target)",
        per_item=True,
        item="query",
        driven_as="Server",
    ),
    _loadgen(
        "loadgen-offline",
        "LoadGen Offline",
        "LoadGen Offline (time per sample)",
        per_item=True,
        batched=True,
        item="sample",
        driven_as="Offline",
    ),
    Scenario("latency-device", "Latency on the device", "latency on the device", on_device=True),
    Scenario(
        "throughput-device",
        "Throughput on the device",
        "throughput on the device",
        per_item=True,
        batched=True,
        on_device=True,
    ),
)
"""In the order in which they are measured. Cold starts come first: they need empty compile caches, and fill them for
the rest of the run."""
_BY_NAME: dict[str, Scenario] = {scenario.name: scenario for scenario in SCENARIOS}


def get(name: str) -> Scenario:
    """Return a scenario; KeyError: there is none (names of command lines and records are checked before)."""
    return _BY_NAME[name]


def in_order(names: Iterable[str]) -> list[ScenarioName]:
    """Return `names` in the order in which they are measured, each once."""
    chosen = set(names)
    return [scenario.name for scenario in SCENARIOS if scenario.name in chosen]
