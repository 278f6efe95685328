"""Random padding of each launch's environment, so that no result comes from one memory layout.

The kernel puts the environment at the top of the stack, and Python copies it to the heap. Its length, which has nothing
to do with what is measured, decides where both lie within a page, and that alone can reverse the result of a
comparison (Mytkowicz et al. 2009). A layout that is the same in every launch is a bias that no number of launches
averages out. Drawn anew for each launch, it is a part of the variance between launches, which intervals are made of.
STABILIZER (Curtsinger and Berger 2013) draws code, stack and heap anew, all through a run; padding and the kernel's
address-space randomisation are the part of that which needs no compiler.

The kernel's randomisation moves the stack in steps of 16 bytes, and the heap by whole pages: without padding, the first
objects on the heap lie at the same place within their pages in each launch. Padding of more than 512 bytes, which
Python takes from the C library's heap, moves these too.

References
----------
T. Mytkowicz, A. Diwan, M. Hauswirth, P. F. Sweeney (2009). Producing wrong data without doing anything obviously wrong!
ASPLOS XIV, 265-276.
C. Curtsinger, E. D. Berger (2013). STABILIZER: statistically sound performance evaluation. ASPLOS XVIII, 219-228.
"""

import random
from collections.abc import Iterable

from levelfield.record.schema import Arm

BITS = 12
"""Lengths are 0 to 4095 bytes: one page, since a longer one moves nothing to another place within a page. In steps of
one byte: the stack is rounded to 16 bytes, so each of its 256 places in a page has 16 lengths; other copies of the
environment are rounded by rules of their own."""


def draw(arms: Iterable[Arm], seed: int) -> dict[str, int]:
    """Return the length of each launch's padding, in bytes, by arm id."""
    return {arm.id: random.Random(f"padding/{seed}/{arm.id}").getrandbits(BITS) for arm in arms}  # noqa: S311
