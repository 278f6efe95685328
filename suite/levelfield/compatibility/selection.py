"""Which CUDA variant of an image fits this machine, decided before gigabytes are fetched."""

from collections.abc import Mapping, Sequence

import msgspec

from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.compatibility.gate import check
from levelfield.compatibility.table import Table
from levelfield.compatibility.versions import key
from levelfield.names import unknown


class Choice(msgspec.Struct, frozen=True):
    """A variant, or why there is none."""

    variant: str | None
    release: str = ""
    """CUDA release of the variant."""
    reason: str = ""
    """Why there is no variant, one sentence; empty where there is one."""
    fix: str = ""
    warnings: tuple[str, ...] = ()


def choose(
    table: Table,
    nvidia: Nvidia,
    variants: Mapping[str, str],
    *,
    requested: str | None = None,
    gpu: int | None = None,
) -> Choice:
    """Choose the newest variant that runs on the driver and on the GPUs.

    `gpu`: index of the one GPU that is to be used; None: the variant should suit all of them. Raises LevelfieldError:
    there is no variant of the requested name.
    """
    if requested is not None:
        return _requested(table, nvidia, variants, requested, gpu)
    if not variants:
        return Choice(None, reason="There is no CUDA variant of this image.", fix="Use the CPU variant.")
    gpus = nvidia.chosen(gpu)
    if gpu is not None and nvidia.driver is not None and not gpus:
        have = _titles(nvidia.gpus) or "none"
        return Choice(None, reason=f"There is no GPU {gpu} here.", fix=f"Choose one of these: {have}.")
    newest_first = sorted(variants, key=lambda name: key(variants[name]), reverse=True)
    for name in newest_first:
        found = check(table, variants[name], nvidia, gpus)
        if found.runs:
            return Choice(name, release=variants[name], warnings=found.warnings)
    for name in newest_first:
        suited = [one for one in gpus if check(table, variants[name], nvidia, [one]).runs]
        if suited:
            others = _titles([one for one in gpus if one not in suited])
            note = f"{name} has no code for {others}: it can be used on {_titles(suited)} only."
            found = check(table, variants[name], nvidia, suited)
            return Choice(name, release=variants[name], warnings=(note, *found.warnings))
    oldest = check(table, variants[newest_first[-1]], nvidia, gpus)  # the least that would have to change
    return Choice(None, reason=oldest.reason, fix=oldest.fix)


def _requested(table: Table, nvidia: Nvidia, variants: Mapping[str, str], requested: str, gpu: int | None) -> Choice:
    if requested not in variants:
        raise unknown("CUDA variant", requested, variants)
    found = check(table, variants[requested], nvidia, nvidia.chosen(gpu))
    doubts = () if found.runs else (f"{requested} was asked for, and is not expected to run here: {found.reason}",)
    return Choice(requested, release=variants[requested], warnings=(*doubts, *found.warnings))


def _titles(gpus: Sequence[Gpu]) -> str:
    return ", ".join(one.title for one in gpus)
