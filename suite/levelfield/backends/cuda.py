"""What backends on NVIDIA GPUs have in common: one GPU, no silent way back to the CPU.

torch, torch.compile, JAX and ONNX Runtime were run on an NVIDIA H200 (docs/gpu.md). TensorFlow and
TensorRT are written against the frameworks' documentation: on CUDA they are unverified, and their first run there is
the test.
"""

from levelfield.backends.protocol import Unsupported

DEVICE = "cuda"


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


_MEANINGS = (
    (
        "no kernel image is available",
        (
            "The framework has no code for this GPU, which is older or newer than what it was made for: take another "
            "CUDA variant (`levelfield doctor` says which fit), or --variant cpu."
        ),
    ),
    (
        "driver version is insufficient",
        (
            "The NVIDIA driver is older than the framework's CUDA asks for: install a newer one and restart, or take a "
            "variant of an older CUDA (`levelfield doctor` says which fit)."
        ),
    ),
    (
        "forward compatibility was attempted on non supported HW",
        (
            "The NVIDIA driver's libraries and what the kernel has loaded do not fit: restart the machine, and take "
            "cuda-compat off LD_LIBRARY_PATH."
        ),
    ),
    (
        "busy or unavailable",
        (
            "The GPU refused this process: another one uses it exclusively (nvidia-smi lists it), or its compute mode "
            "allows one process at a time; nvidia-smi -c DEFAULT (as root) allows several."
        ),
    ),
)
"""Part of an error message of CUDA's, which frameworks pass on; what it means, and what to do."""


def meaning(text: str) -> str:
    """Return what an error of CUDA's means, in one sentence with the fix; empty where its own message suffices."""
    return next((sentence for part, sentence in _MEANINGS if part in text), "")
