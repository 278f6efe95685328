"""Whether a CUDA release runs on a driver and its GPUs, and which variant of an image therefore fits a machine.

By the table of what fits together, `images/compatibility.toml`.

References
----------
NVIDIA, CUDA Compatibility: "Minor Version Compatibility" (a driver of the family's first release is enough) and
"Forward Compatibility" (cuda-compat, for data-centre GPUs only).
"""

import re
import tomllib
from collections.abc import Mapping, Sequence

import msgspec
from packaging.version import Version

from levelfield.names import unknown
from levelfield.paths import images_root
from levelfield.record.schema import Absent, Fact
from levelfield.untrusted import convert

_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")


def key(version: str) -> Version:
    """Return a version as it is compared; raises ValueError where it is not numbers with points between them."""
    if not is_version(version):
        raise ValueError(f"{version[:40]!r} is not a version made of numbers.")
    return Version(version)


def is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def minor(version: str) -> tuple[int, int]:
    """Return major and minor number: (12, 8) of 12.8.1."""
    return key(version).major, key(version).minor


def within(version: str, low: str | None, high: str | None) -> bool:
    """Say whether a version is at least `low` and below `high`; a bound that is None is open."""
    return (low is None or key(version) >= key(low)) and (high is None or key(version) < key(high))


NAME = "compatibility.toml"


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All releases of one major version of CUDA."""

    minimum_driver: str
    """Enough to run any of them, by minor-version compatibility."""
    minimum_compute_capability: str
    """GPUs below it have no code in these releases."""


class Range(msgspec.Struct, frozen=True, rename={"low": "from", "high": "below"}, forbid_unknown_fields=True):
    """Versions from `low` on and below `high`; a bound that is None is open."""

    low: str | None = None
    high: str | None = None

    def contains(self, version: str | None) -> bool:
        """Return whether a version is within the bounds; one that is not known is not."""
        return version is not None and within(version, self.low, self.high)


class LibraryRange(Range, frozen=True, kw_only=True):
    """Versions of a library."""

    library: str


class Rule(LibraryRange, frozen=True, kw_only=True):
    """A combination that is known to compute wrongly. Every field that is there must be met."""

    effect: str
    remedy: str
    source: str
    capability: Range | None = None
    gpus_at_least: int = 1
    beside: LibraryRange | None = None
    precision: str | None = None


class WrongAnswer(Range, frozen=True, kw_only=True):
    """Versions of a framework that are known to answer wrongly on a CPU."""

    distributions: tuple[str, ...]
    backends: tuple[str, ...] = ()
    """Those of its backends that do; empty: all."""
    own: bool = False
    """Whether files of a user's own alone hold it, and none of the models here."""
    where: str
    """What is answered wrongly."""
    remedy: str
    issue: str
    """Upstream, `jax-ml/jax 39103`."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    family: dict[str, Family]
    """By major version."""
    release: dict[str, str]
    """Release to its minimum driver."""
    known_bad: tuple[Rule, ...] = ()
    wrong_answer: tuple[WrongAnswer, ...] = ()


class Requirement(msgspec.Struct, frozen=True):
    """What a release needs."""

    release: str
    family: Family
    driver: str | None
    """With which everything works; None where the table does not know the release's minor version."""


def read() -> Table:
    """Read the table of this release, `images/compatibility.toml`."""
    return convert(tomllib.loads((images_root() / NAME).read_text(encoding="utf-8")), Table)


def requirement(table: Table, release: str) -> Requirement | None:
    """Return what a CUDA release needs; None where the table does not know its family.

    A patch release that the table lacks needs what the highest listed one of its minor version needs.
    """
    family = table.family.get(str(minor(release)[0]))
    if family is None:
        return None
    exact = next((name for name in table.release if key(name) == key(release) and release.count(".") > 1), None)
    same = [name for name in table.release if minor(name) == minor(release)]
    listed = exact or max(same, key=key, default=None)
    return Requirement(release=release, family=family, driver=table.release[listed] if listed else None)


_MAX_DEVICES = 1024
_EXCLUSIVE, _PROHIBITED = (1, 3), 2
"""NVML's compute modes (`nvmlComputeMode_t`)."""


class Gpu(msgspec.Struct, frozen=True):
    index: int
    name: str
    capability: str | None
    """Compute capability, `9.0`; None where the device did not say."""
    mig: bool = False
    """Cut into slices (multi-instance GPU): no longer usable as a whole."""
    one_process: bool = False
    """It lets one process in at a time (compute mode EXCLUSIVE_PROCESS, or EXCLUSIVE_THREAD of old)."""
    prohibited: bool = False
    """It lets no process compute (compute mode PROHIBITED)."""
    persistent: bool | None = None
    """The driver stays ready while no process uses the GPU (persistence mode); None where the device did not say."""

    @property
    def title(self) -> str:
        """`GPU 0 (NVIDIA H100, 9.0)`."""
        return f"GPU {self.index} ({self.name}{f', {self.capability}' if self.capability else ''})"


class Nvidia(msgspec.Struct, frozen=True):
    """The driver and the devices it shows."""

    driver: str | None
    """Version; None: none answers."""
    cuda: str | None = None
    """Newest CUDA that the driver itself says it supports, `13.0`."""
    gpus: tuple[Gpu, ...] = ()
    problem: str = ""
    """Why there is no driver; empty where there is one."""
    fix: str = ""
    """What to do about that; empty where nothing is wrong, as on a machine without a GPU."""
    hidden: tuple[int, ...] = ()
    """Indices of GPUs that are there, and not for this process (CUDA_VISIBLE_DEVICES)."""

    def chosen(self, index: int | None) -> tuple[Gpu, ...]:
        """Return the GPU of an index, if it is there; all where no index is given."""
        return tuple(gpu for gpu in self.gpus if index is None or gpu.index == index)


def from_facts(facts: Mapping[str, Fact]) -> Nvidia:
    """Read the `gpu` group of a fingerprint."""
    driver, cuda = facts.get("driver", Absent("not asked")), facts.get("CUDA supported")
    if isinstance(driver, Absent) or not is_version(str(driver)):
        reason = driver.reason if isinstance(driver, Absent) else f"its version is {str(driver)[:40]!r}"
        return Nvidia(driver=None, problem=reason)
    count = facts.get("devices")
    shown = min(count, _MAX_DEVICES) if isinstance(count, int) else 0
    return Nvidia(
        driver=str(driver),
        cuda=str(cuda) if isinstance(cuda, str) and is_version(cuda) else None,
        gpus=tuple(_gpu(facts, index) for index in range(shown)),
    )


def _gpu(facts: Mapping[str, Fact], index: int) -> Gpu:
    name, capability = facts.get(f"device {index} name"), facts.get(f"device {index} compute capability")
    mode, persistent = facts.get(f"device {index} compute mode"), facts.get(f"device {index} persistence mode")
    return Gpu(
        index=index,
        name=name[:80] if isinstance(name, str) else "unnamed",
        capability=capability if isinstance(capability, str) and is_version(capability) else None,
        mig=facts.get(f"device {index} MIG") is True,
        one_process=mode in _EXCLUSIVE,
        prohibited=mode == _PROHIBITED,
        persistent=persistent if isinstance(persistent, bool) else None,
    )


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
            f"No NVIDIA driver answers here: {nvidia.problem.rstrip('.')}.", nvidia.fix or "Use the CPU variant."
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
    table: Table, nvidia: Nvidia, variants: Mapping[str, str], *, requested: str | None = None, gpu: int | None = None
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
