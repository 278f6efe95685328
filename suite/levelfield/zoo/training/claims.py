"""In which precision was a training really computed? Its errors, and what the framework reports, say it.

The errors are compared with two sensitivities of the same model: that of fp32 and that of a lower precision
(`zoo.training.parity`). For each kind of error e its position between them is log(e ÷ s₃₂) ÷ log(s ÷ s₃₂), 0 at
fp32's sensitivity s₃₂ and 1 at the lower precision's s. The mean over the kinds decides: below ½ it is computed in
fp32, above it in the lower precision. Between the two lie four to six orders of magnitude of the MLP and of BERT, and
two of ResNet-50, whose training amplifies every rounding. Kinds whose sensitivities are less than a factor `APART` from
one another do not count: ResNet-50's weights after ten steps, and the losses of its small sibling that is trained to a
target, where errors cannot tell.

* A claim of a lower precision with a position below ½ was *computed in fp32*.
* A claim of fp32 that is over its tolerance, with a position above ½, was *computed in the lower precision*.
* Otherwise the claim holds, as far as the errors say; what the framework reports is judged as ever.
"""

import math
from collections.abc import Iterator, Mapping

import msgspec

from levelfield.record.measured import Computed
from levelfield.zoo import honesty
from levelfield.zoo.honesty import FP32, Finding
from levelfield.zoo.training.recipe import Errors

MIDDLE = 0.5
"""On the scale from fp32's sensitivity, 0, to the lower precision's, 1."""
APART = 50.0
"""Between sensitivities that tell two precisions apart: a sensitivity is the largest error of a few draws, and that of
one program may be some seven times smaller, or larger."""


def position(errors: Errors, fp32: Errors, lower: Errors) -> float:
    """Return where errors are between fp32's sensitivity, 0, and a lower one's, 1; NaN where none can be placed."""
    found = list(_positions(errors, fp32, lower))
    return sum(found) / len(found) if found else math.nan


def _positions(errors: Errors, fp32: Errors, lower: Errors) -> Iterator[float]:
    for error, near, far in zip(*map(msgspec.structs.astuple, (errors, fp32, lower)), strict=True):
        if None not in (error, near, far) and math.isfinite(error) and far >= APART * near > 0:
            yield math.log(max(error, near) / near) / math.log(far / near)


def judge(
    claimed: str, errors: Errors, sensitivities: Mapping[str, Errors], computed: Computed | None, *, equal: bool
) -> Finding:
    """Say in what a training was computed, and whether that is what was asked for."""
    fp32 = sensitivities[FP32]
    places = {name: position(errors, fp32, each) for name, each in sensitivities.items() if name != FP32}
    if claimed == FP32:
        reported = honesty.judge(FP32, 0.0, {}, computed)
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
    return honesty.judge(claimed, 0.0, {}, computed)
