"""In which precision was it really computed? What a framework says of itself, held against the size of its error.

Defaults lie: OpenVINO computes in bf16 where it may, at twice the speed, and calls it nothing. Two witnesses are heard.
The framework's own introspection counts its matrix products and convolutions by the type that they multiply. And the
error is held against a yardstick (`suite.zoo.rounding`): what rounding the weights alone, in that precision, makes of
this model's answer to these inputs. Between the yardstick of bf16 and what float32 leaves lie four orders of magnitude,
so that one order to each side is room enough.

* A claim of fp32 with an error of the size that a lower precision makes, or whose products are said to be in one, is
  *dishonest*, whatever its tolerance.
* A claim of a lower precision with an error far below that precision's yardstick was *computed in fp32*.
* Products in fp32 between tensors of the claimed precision, with an error of its size, are that precision *emulated*:
  the claim holds, and its speed is not that of instructions for it.
"""

import math
from collections.abc import Mapping

import msgspec

FP32 = "fp32"
LIKE = 10.0
"""An error within this factor of a yardstick is of its size."""
_WIDE = ("fp64", FP32)


class Computed(msgspec.Struct, frozen=True):
    """What a framework says that it computes in, read back after it was set up."""

    products: dict[str, int]
    """Matrix products and convolutions by the type that they multiply: `fp32`, `bf16`, `int8`, …"""
    source: str
    """Where that was read: `OpenVINO's runtime graph`."""
    kernels: dict[str, int] = {}
    """The same products by who computes them: library and instruction set (`oneDNN, brg_matmul:avx512_core`)."""
    kernels_source: str = ""
    """Where that was read, or why it is not known."""

    @property
    def mostly(self) -> str:
        """The type of most products; empty where nothing was counted."""
        return max(self.products, key=lambda name: self.products[name], default="")


class Finding(msgspec.Struct, frozen=True):
    """What the two witnesses come to."""

    computed_in: str
    """Empty where neither could tell."""
    holds: bool
    reason: str = ""
    """One sentence where the claim does not hold."""
    emulated: str = ""
    """How the claimed precision was emulated; empty where it was not, as far as one can see."""


def judge(claimed: str, error: float, yardsticks: Mapping[str, float], computed: Computed | None) -> Finding:
    """Say in what an answer was computed, and whether that is what was asked for.

    Parameters
    ----------
    claimed
        The precision that was asked for.
    error
        Relative error of the answer (‖out − ref‖ ÷ ‖ref‖).
    yardsticks
        Precision to the relative error that rounding the weights in it makes. Of the claimed precision; for a claim of
        fp32, of those that it may hide.
    computed
        What the framework says; None where it was not asked.
    """
    said = computed.mostly if computed is not None else ""
    if claimed == FP32:
        return _full(error, yardsticks, computed, said)
    yardstick = yardsticks.get(claimed, 0.0)
    if error < yardstick / LIKE:
        return Finding(
            computed_in=said if said in _WIDE else FP32,
            holds=False,
            reason=(
                f"It was asked for {claimed} and computed in {said if said in _WIDE else FP32}: its relative error is "
                f"{error:.1e}, where rounding the weights to {claimed} alone makes {yardstick:.1e}."
            ),
        )
    if computed is None or said in {"", claimed} or claimed == "tf32":
        return Finding(computed_in=claimed, holds=True)
    if said in _WIDE:
        return Finding(computed_in=claimed, holds=True, emulated=_in_words(computed, said))
    return Finding(
        computed_in=said, holds=False, reason=f"It was asked for {claimed}, and {_in_words(computed, said)}."
    )


def _full(error: float, yardsticks: Mapping[str, float], computed: Computed | None, said: str) -> Finding:
    if computed is not None and said and said not in _WIDE:
        return Finding(computed_in=said, holds=False, reason=f"It was asked for fp32, and {_in_words(computed, said)}.")
    alike = {name: size for name, size in yardsticks.items() if 0 < size / LIKE <= error <= size * LIKE}
    if alike:
        nearest = min(alike, key=lambda name: abs(math.log(error / alike[name])))
        return Finding(
            computed_in=nearest,
            holds=False,
            reason=(
                f"It was asked for fp32, and its relative error of {error:.1e} is of the size that {nearest} makes "
                f"(rounding the weights to it alone: {alike[nearest]:.1e})."
            ),
        )
    return Finding(computed_in=FP32, holds=True)


def _in_words(computed: Computed, said: str) -> str:
    total = sum(computed.products.values())
    return f"{computed.products[said]} of {total} products are in {said} by {computed.source}"
