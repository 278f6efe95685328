"""What backends on NVIDIA GPUs have in common: one GPU, no silent way back to the CPU.

Written against the frameworks' documentation. Nothing in this package has been run on a GPU yet: what is here of CUDA
is unverified, and its first run on one is the test.
"""

from suite.backends.protocol import Unsupported

DEVICE = "cuda"
DEVICES = ("cpu", DEVICE)
"""Where the backends with CUDA variants run."""


def sees_none(backend: str, why: str) -> Unsupported:
    """Return the refusal of a framework that finds no GPU where one was asked for."""
    return Unsupported(
        f"{backend} was to run on a GPU and sees none ({why}): see `levelfield doctor`, and take a CUDA variant of it."
    )


def fell_back(backend: str, where: str) -> Unsupported:
    """Return the refusal of a framework that would compute elsewhere: that is no slow result, but none."""
    return Unsupported(
        f"{backend} was to run on a GPU and would compute on {where}: see what its libraries miss, `levelfield doctor`."
    )
