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
"""

import math
from collections.abc import Mapping

import msgspec

from levelfield.record.measured import Computed

FP32 = "fp32"
LIKE = 10.0
"""An error within this factor of a yardstick is of its size."""
_WIDE = ("fp64", FP32)


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
    if computed is None or reported in {"", claimed} or claimed == "tf32":
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
