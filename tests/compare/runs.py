"""Runs for comparisons: synthetic records, reduced, with whatever a test wants to be different about them."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from levelfield.analysis.summary import Reduced, reduce
from levelfield.compare.comparison import compare_runs
from levelfield.compare.types import Comparison, Row
from levelfield.record.schema import Arm, Failure, Generation, Launch, Parity, Run
from tests.records_builder import make_run, with_generations, with_launches


def run(name: str, seed: int = 1, **options: Any) -> Run:
    """A small record: two backends, one model, latency, unless told otherwise."""
    chosen: dict[str, Any] = {
        "models": ["mlp"], "backends": ["jax", "onnxruntime"], "scenarios": ["latency"], "generations": 5,
        "rounds": 2, "max_calls": 12,
    } | options  # fmt: skip
    return msgspec.structs.replace(make_run(seed=seed, **chosen), id=name)


def side(name: str, count: int, first_seed: int = 1, **options: Any) -> list[Reduced]:
    """So many runs of one side, each with noise of its own."""
    return [reduced(run(f"{name}-{number}", first_seed + number, **options)) for number in range(count)]


def reduced(record: Run) -> Reduced:
    return reduce(record, "0" * 64)


def with_machine(record: Run, **facts: dict[str, Any]) -> Run:
    """Change facts of the fingerprint, group by group."""
    return msgspec.structs.replace(
        record, machine=record.machine | {group: record.machine.get(group, {}) | more for group, more in facts.items()}
    )


def with_parity(record: Run, arm: str, change: Callable[[Parity], Parity]) -> Run:
    def in_launch(launch: Launch) -> Launch:
        return launch if launch.parity is None else msgspec.structs.replace(launch, parity=change(launch.parity))

    return with_launches(record, in_launch, arm)


def losing_a_launch(of: Run, failure: Failure, index: int = 0) -> Run:
    """Let a launch of ONNX Runtime fail in one generation."""

    def change(generation: Generation) -> Generation:
        if generation.index != index:
            return generation
        rounds = (
            msgspec.structs.replace(each, turns=tuple(turn for turn in each.turns if turn.arm != "onnxruntime"))
            for each in generation.rounds
        )
        launches = (
            msgspec.structs.replace(each, failure=failure) if each.arm == "onnxruntime" else each
            for each in generation.launches
        )
        return msgspec.structs.replace(generation, launches=tuple(launches), rounds=tuple(rounds))

    return with_generations(of, change)


def without_arm(record: Run, arm: str) -> Run:
    blocks = (
        msgspec.structs.replace(block, arms=tuple(each for each in block.arms if each.id != arm))
        for block in record.blocks
    )
    return msgspec.structs.replace(record, blocks=tuple(blocks))


def with_arm(record: Run, arm: str, other: Arm) -> Run:
    """Let another arm have given all that this one gave."""
    plain = msgspec.to_builtins(record)
    for block in plain["blocks"]:
        block["arms"] = [msgspec.to_builtins(other) if Arm(**each).id == arm else each for each in block["arms"]]
        for generation in block["generations"]:
            entries = [*generation["launches"], *(turn for one in generation["rounds"] for turn in one["turns"])]
            for entry in entries:
                entry["arm"] = other.id if entry["arm"] == arm else entry["arm"]
    return msgspec.convert(plain, Run)


def only(found: Iterable[Any]) -> Any:
    (one,) = found
    return one


def one(old: Run, new: Run, **options: Any) -> Comparison:
    """Compare one run with one run."""
    return compare_runs([reduced(old)], [reduced(new)], **options)


def row(found: Comparison, arm: str) -> Row:
    """Return the only row of an arm."""
    result: Row = only(row for row in found.rows if arm in (row.new_arm, row.old_arm))
    return result
