"""Fleets for tests: synthetic runs of nodes that are alike, with whatever a test wants to be different about one."""

from collections.abc import Callable
from functools import cache

import msgspec

from levelfield.analysis.summary import Answer, Reduced
from tests.compare.runs import reduced, run

Nodes = dict[str, list[Reduced]]


@cache
def _reduced(seed: int, scale: float, backends: tuple[str, ...]) -> Reduced:
    return reduced(run(f"run-{seed}", seed, backends=backends, rounds=1, noise_scale=scale))


def fleet(
    nodes: int, runs: int = 3, *, scale: float = 0.2, backends: tuple[str, ...] = ("jax", "onnxruntime")
) -> Nodes:
    """Nodes `n00`, `n01`, …, each with runs of its own, whose noise is `scale` times that of a busy machine."""
    return {
        f"n{node:02}": [_reduced(1 + node * runs + number, scale, backends) for number in range(runs)]
        for node in range(nodes)
    }


def replayed(nodes: int, runs: int = 5, *, scale: float = 1.0) -> Nodes:
    return {
        f"n{node:02}": [_reduced(number + 1, scale, ("jax", "onnxruntime")) for number in range(runs)]
        for node in range(nodes)
    }


def with_node(found: Nodes, node: str, change: Callable[[Reduced], Reduced]) -> Nodes:
    return found | {node: [change(each) for each in found[node]]}


def slowed(factor: float, only: str = "", *, canary: bool = True) -> Callable[[Reduced], Reduced]:
    """Let costs be so many times higher: of all results, or of one arm."""

    def times(answer: Answer) -> Answer:
        return msgspec.structs.replace(
            answer,
            cost=answer.cost and answer.cost * factor,
            launch_costs=tuple(cost * factor for cost in answer.launch_costs),
        )

    def change(one: Reduced) -> Reduced:
        answers = {key: times(answer) if only in ("", key[0]) else answer for key, answer in one.answers.items()}
        of_canary = times(one.canary) if canary and one.canary is not None else one.canary
        return msgspec.structs.replace(one, answers=answers, canary=of_canary)

    return change


def with_facts(group: str, **facts: str) -> Callable[[Reduced], Reduced]:
    def change(one: Reduced) -> Reduced:
        return msgspec.structs.replace(
            one, environment=one.environment | {group: one.environment.get(group, {}) | facts}
        )

    return change


def with_hardware(**facts: str) -> Callable[[Reduced], Reduced]:
    """Change facts of the hardware; `_` in a name stands for a space."""
    named = {name.replace("_", " "): value for name, value in facts.items()}

    def change(one: Reduced) -> Reduced:
        return msgspec.structs.replace(one, hardware=one.hardware | named)

    return change


def with_digests(arm: str, *digests: str) -> Callable[[Reduced], Reduced]:
    def change(one: Reduced) -> Reduced:
        parities = {
            key: tuple(msgspec.structs.replace(values[0], output_sha256=digest) for digest in digests)
            if key[0] == arm
            else values
            for key, values in one.parities.items()
        }
        return msgspec.structs.replace(one, parities=parities)

    return change


def flipped(digest: str) -> str:
    """The digest of an output of which one bit is another: any other digest."""
    return f"{int(digest[0], 16) ^ 1:x}{digest[1:]}"


def digest_of(one: Reduced, arm: str) -> str:
    return next(values[0].output_sha256 for key, values in one.parities.items() if key[0] == arm)
