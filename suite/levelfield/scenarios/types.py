"""The definition of a scenario, used for planning, measuring, analysis and reports."""

from typing import Literal, TypeAlias

import msgspec

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
Sample: TypeAlias = Literal["window", "cold start", "peak memory", "training run", "LoadGen test"]
"""What one measurement of an arm is: a window of timed calls, a whole launch of one of three kinds, or what MLPerf
LoadGen measured in a launch."""


class Scenario(msgspec.Struct, frozen=True):
    """One scenario.

    Parameters
    ----------
    name
        As records and command lines have it.
    title
        Heading on a page.
    phrase
        What is measured, in the middle of a sentence.
    sample
        What one measurement is; it decides how a turn is taken and how the block is analysed.
    unit
        Of the value that arms are compared by, as records keep it: `ns` or `bytes`. Less is better in all scenarios.
    per_item
        The time of an item counts, not that of a call.
    batched
        It is measured at the requested batch sizes; else with one item a call, or with batches of its own.
    trains
        Calls are steps of training.
    on_device
        Inputs and outputs stay in the accelerator's memory; else they are NumPy arrays in the host's.
    decodes
        What a call computes of tokens, one by one (`zoo.decoding.Call`); empty: nothing of the kind.
    items_per_input
        Items that one input of a call counts as, where the time of an item counts.
    item
        What an item is called.
    note
        What must be known to read its figures; empty: nothing more.
    operators
        It measures single operators, and no networks.
    from_dataset
        Batches come from a dataset on disk.
    profiled
        `levelfield explain` can profile it: single calls between host memory and host memory.
    driven_as
        Scenario of MLPerf LoadGen that sends the queries; empty: the worker makes the calls itself.
    batch
        Items in each call, where neither the user nor the model says how many.
    loaded_as
        Scenario that a worker loads for, where loading is the same; empty: this one.
    not_of_a_file
        Why a user's own ONNX file cannot be measured in it; empty: it can.
    """

    name: ScenarioName
    title: str
    phrase: str
    sample: Sample = "window"
    unit: Literal["ns", "bytes"] = "ns"
    per_item: bool = False
    batched: bool = False
    trains: bool = False
    on_device: bool = False
    decodes: Literal["", "prefill", "decode", "generate"] = ""
    items_per_input: int = 1
    item: str = "item"
    note: str = ""
    operators: bool = False
    from_dataset: bool = False
    profiled: bool = False
    driven_as: Literal["", "SingleStream", "MultiStream", "Server", "Offline"] = ""
    batch: int = 1
    loaded_as: str = ""
    not_of_a_file: str = ""

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
