"""What a fault did to a run: what differs from a run that nothing befell."""

from collections.abc import Sequence

from levelfield.machine.fingerprint import changed
from levelfield.record.schema import Generation, Run, Turn


def differences(unbroken: Run, resumed: Run) -> list[str]:
    """Return in words how a run that was taken up again differs from one that was not, beyond what was repeated.

    Times differ between any two runs, and whole generations that were cut stand in the record beside those that
    replaced them: neither is a difference.
    """
    found: list[str] = []
    if resumed.finished is None:
        found.append("it is not finished")
    same = ("schema", "tool_sha256", "settings", "artifacts", "labels", "work")
    found += [f"{name} differ" for name in same if getattr(unbroken, name) != getattr(resumed, name)]
    found += [f"machine: {each}" for each in changed(unbroken.machine, resumed.machine)]
    if {(each.name, each.variant, each.tag) for each in unbroken.images} != {
        (each.name, each.variant, each.tag) for each in resumed.images
    }:
        found.append("images differ")
    if type(resumed.roofline) is not type(unbroken.roofline):
        found.append("the roofline is in one of them alone")
    if [block.case for block in unbroken.blocks] != [block.case for block in resumed.blocks]:
        return [*found, "cases differ"]
    for one, other in zip(unbroken.blocks, resumed.blocks, strict=True):
        if (one.arms, one.planned_generations) != (other.arms, other.planned_generations):
            found.append(f"{one.case.id}: arms or planned generations differ")
        before, after = _complete(one.generations), _complete(other.generations)
        if len(before) != len(after):
            found.append(f"{one.case.id}: {len(after)} complete generations, not {len(before)}")
        for each in after:
            twin = next((known for known in before if known.index == each.index), None)
            if twin is not None and twin.seed != each.seed:
                found.append(f"{one.case.id}: generation {each.index} has another schedule")
        for left, right in zip(before, after, strict=False):
            found += [f"{one.case.id}: {what}" for what in _unlike(left, right)]
    return found


def _complete(generations: Sequence[Generation]) -> list[Generation]:
    return [generation for generation in generations if generation.complete]


def _unlike(one: Generation, other: Generation) -> list[str]:
    found = []
    if _launches(one) != _launches(other):
        found.append(f"launches of generation {other.index} differ")
    if {_arms(each.turns) for each in one.rounds} != {_arms(each.turns) for each in other.rounds}:
        found.append(f"arms of the rounds of generation {other.index} differ")
    # A disturbed round is repeated, on any machine and at any time.
    rounds = [sum(1 for each in generation.rounds if not each.repeats) for generation in (one, other)]
    if rounds[0] != rounds[1]:
        found.append(f"generation {other.index} has {rounds[1]} rounds, not {rounds[0]}")
    return found


def _launches(generation: Generation) -> set[tuple[object, ...]]:
    """Return who was launched, with what, and whether it failed or was equal."""
    return {
        (
            each.arm,
            each.weights_sha256,
            each.inputs_sha256,
            each.onnx_sha256,
            each.failure is None,
            each.parity is not None and each.parity.equal,
        )
        for each in generation.launches
    }


def _arms(turns: Sequence[Turn]) -> frozenset[tuple[str, bool]]:
    return frozenset((turn.arm, turn.window is not None) for turn in turns)
