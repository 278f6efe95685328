"""Whether a CUDA release runs on a driver and its GPUs: yes, yes with a warning, or one sentence why not.

References
----------
NVIDIA, CUDA Compatibility: "Minor Version Compatibility" (a driver of the family's first release is enough) and
"Forward Compatibility" (cuda-compat, for data-centre GPUs only).
"""

from collections.abc import Sequence

import msgspec

from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.compatibility.table import Requirement, Table, requirement
from levelfield.compatibility.versions import key, minor


class CudaCheck(msgspec.Struct, frozen=True):
    """What came of holding a release against a machine."""

    runs: bool
    reason: str = ""
    """Why it does not run, one sentence; empty where it does."""
    fix: str = ""
    warnings: tuple[str, ...] = ()


def check(table: Table, release: str, nvidia: Nvidia, gpus: Sequence[Gpu] | None = None) -> CudaCheck:
    """Judge whether a CUDA release runs here.

    `gpus`: those that are to be used; None: all of the machine.
    """
    if nvidia.driver is None:
        return _refused(
            f"No NVIDIA driver answers here: {nvidia.problem.rstrip('.')}.",
            nvidia.fix or "Use the CPU variant.",
        )
    needs = requirement(table, release)
    if needs is None:
        return _refused(
            f"CUDA {release} is of a family that this Levelfield does not know.",
            "Use a newer Levelfield, or ask for the variant by name.",
        )
    if key(nvidia.driver) < key(needs.family.minimum_driver):
        return _refused(
            f"CUDA {release} needs the driver {needs.family.minimum_driver} or newer, and this machine has "
            f"{nvidia.driver}.",
            f"Install the driver {needs.driver or needs.family.minimum_driver} or newer, and restart.",
        )
    chosen = nvidia.gpus if gpus is None else gpus
    if not chosen:
        return _refused(
            f"The driver {nvidia.driver} answers, and shows no GPU.",
            "See what `nvidia-smi -L` lists, and whether this process may use it.",
        )
    for gpu in chosen:
        if gpu.capability and key(gpu.capability) < key(needs.family.minimum_compute_capability):
            return _refused(
                f"CUDA {release} has no code for {gpu.title}: it needs compute capability "
                f"{needs.family.minimum_compute_capability} or newer.",
                f"Use a variant of CUDA {minor(release)[0] - 1} or older for it, or another GPU.",
            )
    return CudaCheck(runs=True, warnings=(*_of_driver(needs, nvidia), *_of_gpus(chosen)))


def _refused(reason: str, fix: str) -> CudaCheck:
    return CudaCheck(runs=False, reason=reason, fix=fix)


def _of_driver(needs: Requirement, nvidia: Nvidia) -> tuple[str, ...]:
    """Say what minor-version compatibility means, where the driver is older than the release."""
    driver = nvidia.driver or ""
    if needs.driver is not None and key(driver) >= key(needs.driver):
        return ()
    # Of a minor version that the table lacks, the driver itself says whether it was made for it.
    if needs.driver is None and nvidia.cuda is not None and minor(nvidia.cuda) >= minor(needs.release):
        return ()
    made_for = (
        f"was made for the driver {needs.driver} or newer" if needs.driver else "is newer than this Levelfield's table"
    )
    text = (
        f"CUDA {needs.release} {made_for}; on {driver} it runs by minor-version compatibility: what is new in it may "
        "be missing (cudaErrorCallRequiresNewerDriver), and code not yet compiled for this GPU may be refused."
    )
    return (text,)


def _of_gpus(gpus: Sequence[Gpu]) -> list[str]:
    found = [
        f"{gpu.title} did not say its compute capability, which was not checked." for gpu in gpus if not gpu.capability
    ]
    return found + [
        f"{gpu.title} is cut into slices (MIG is on): only a slice of it can be used." for gpu in gpus if gpu.mig
    ]
