"""In which precision was it really computed? What a framework reports, compared with the size of its error.

Defaults mislead: OpenVINO computes in bf16 where it may, at twice the speed, and does not say so. Two sources are used.
The framework's own introspection counts its matrix products and convolutions by the type that they multiply. And the
error is compared with a yardstick (`zoo.rounding`): what rounding the weights alone, in that precision, makes of
this model's answer to these inputs. Between the yardstick of bf16 and what float32 leaves lie four orders of magnitude,
so that a margin of one order to each side is enough.

* A claim of fp32 with an error of the size that a lower precision makes, or whose products are reported to be in one,
  is *dishonest*, whatever its tolerance.
* A claim of a lower precision with an error far below that precision's yardstick was *computed in fp32*.
* Products in fp32 between tensors of the claimed precision, with an error of its size, are that precision *emulated*:
  the claim holds, and its speed is not that of instructions for it.

Of a training the errors are compared with two sensitivities of the same model: that of fp32 and that of a lower
precision (`zoo.training.parity`). For each kind of error e its position between them is log(e ÷ s₃₂) ÷ log(s ÷ s₃₂), 0
at fp32's sensitivity s₃₂ and 1 at the lower precision's s. The mean over the kinds decides: below ½ it is computed in
fp32, above it in the lower precision. Between the two lie four to six orders of magnitude of the MLP and of BERT, and
two of ResNet-50, whose training amplifies every rounding. Kinds whose sensitivities are less than a factor `APART` from
one another do not count, since there errors cannot tell. A claim of fp32 is *dishonest* only where it is over its
tolerance too.
"""

import math
from collections.abc import Iterator, Mapping

import msgspec

from levelfield.record.measured import Computed
from levelfield.zoo.training.recipe import Errors

FP32 = "fp32"
LIKE = 10.0
"""An error within this factor of a yardstick is of its size."""
_WIDE = ("fp64", FP32)
MIDDLE = 0.5
"""On the scale from fp32's sensitivity, 0, to the lower precision's, 1."""
APART = 50.0
"""Between sensitivities that tell two precisions apart: a sensitivity is the largest error of a few draws, and that of
one program may be some seven times smaller, or larger."""


class Finding(msgspec.Struct, frozen=True):
    """What the two sources imply."""

    computed_in: str
    """Empty where neither source says."""
    holds: bool
    reason: str = ""
    """One sentence where the claim does not hold."""
    emulated: str = ""
    """How the claimed precision was emulated; empty where it was not, as far as one can see."""


def judge(claimed: str, error: float, yardsticks: Mapping[str, float], computed: Computed | None) -> Finding:
    """Say in what an answer was computed, and whether that is what was asked for.

    `yardsticks`: relative error that rounding the weights makes, by precision: the claimed one, or those that fp32 may
    hide.
    """
    reported = computed.mostly if computed is not None else ""
    if claimed == FP32:
        return _of_fp32(error, yardsticks, computed, reported)
    yardstick = yardsticks.get(claimed, 0.0)
    if error < yardstick / LIKE:
        wide = reported if reported in _WIDE else FP32
        reason = (
            f"It was asked for {claimed} and computed in {wide}: its relative error is {error:.1e}, where rounding the "
            f"weights to {claimed} alone makes {yardstick:.1e}."
        )
        return Finding(computed_in=wide, holds=False, reason=reason)
    if computed is None or reported in {"", claimed} or claimed in {"tf32", "int4"}:
        return Finding(computed_in=claimed, holds=True)
    if reported in _WIDE:
        return Finding(computed_in=claimed, holds=True, emulated=_share(computed))
    return Finding(computed_in=reported, holds=False, reason=f"It was asked for {claimed}, and {_share(computed)}.")


def _of_fp32(error: float, yardsticks: Mapping[str, float], computed: Computed | None, reported: str) -> Finding:
    if computed is not None and reported and reported not in _WIDE:
        return Finding(computed_in=reported, holds=False, reason=f"It was asked for fp32, and {_share(computed)}.")
    near = {name: size for name, size in yardsticks.items() if 0 < size / LIKE <= error <= size * LIKE}
    if not near:
        return Finding(computed_in=FP32, holds=True)
    nearest = min(near, key=lambda name: abs(math.log(error / near[name])))
    reason = (
        f"It was asked for fp32, and its relative error of {error:.1e} is of the size that {nearest} makes (rounding "
        f"the weights to it alone: {near[nearest]:.1e})."
    )
    return Finding(computed_in=nearest, holds=False, reason=reason)


def _share(computed: Computed) -> str:
    total, mostly = sum(computed.products.values()), computed.mostly
    return f"{computed.products[mostly]} of {total} products are in {mostly} by {computed.source}"


def position(errors: Errors, fp32: Errors, lower: Errors) -> float:
    """Return where errors are between fp32's sensitivity, 0, and a lower one's, 1; NaN where none can be placed."""
    found = list(_positions(errors, fp32, lower))
    return sum(found) / len(found) if found else math.nan


def _positions(errors: Errors, fp32: Errors, lower: Errors) -> Iterator[float]:
    for error, near, far in zip(*map(msgspec.structs.astuple, (errors, fp32, lower)), strict=True):
        if None not in (error, near, far) and math.isfinite(error) and far >= APART * near > 0:
            yield math.log(max(error, near) / near) / math.log(far / near)


def judge_training(
    claimed: str, errors: Errors, sensitivities: Mapping[str, Errors], computed: Computed | None, *, equal: bool
) -> Finding:
    """Say in what a training was computed, and whether that is what was asked for."""
    fp32 = sensitivities[FP32]
    places = {name: position(errors, fp32, each) for name, each in sensitivities.items() if name != FP32}
    if claimed == FP32:
        reported = judge(FP32, 0.0, {}, computed)
        if not reported.holds:
            return reported
        near = {name: place for name, place in places.items() if place > MIDDLE}
        if equal or not near:
            return Finding(computed_in=FP32 if equal else "", holds=True)
        nearest = min(near, key=lambda name: abs(near[name] - 1))
        reason = f"It was asked to train in fp32, and its errors are of the size that {nearest} makes."
        return Finding(computed_in=nearest, holds=False, reason=reason)
    if places[claimed] < MIDDLE:
        reason = f"It was asked to train in {claimed} and computed in fp32: its errors are of the size that fp32 makes."
        return Finding(computed_in=FP32, holds=False, reason=reason)
    return judge(claimed, 0.0, {}, computed)
