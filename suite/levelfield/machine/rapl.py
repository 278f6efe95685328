"""Energy of the processor, by RAPL (running average power limit): counters of Intel's and AMD's processors.

The kernel shows one zone for each package (a processor in its socket), with parts of it beneath. Only packages are
added up: their parts are in them already, and so is the package in `psys`, the whole board, where that is shown. The
counter is of the whole processor, and includes what other processes computed. Since 2020 only root may read it
(CVE-2020-8694: its steps reveal secrets), and virtual machines hardly ever show it; then it is absent.

References
----------
The kernel's Documentation/power/powercap/powercap.rst and Documentation/ABI/testing/sysfs-class-powercap.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from levelfield.machine.counters import Open, Value
from levelfield.machine.reading import ROOT, if_known, integer, text
from levelfield.record.schema import Absent

_ZONES = "sys/class/powercap"
_PACKAGE = re.compile(r"intel-rapl:\d+")
"""AMD's zones have this name too. `intel-rapl-mmio:0` is the same package another way, and is left out."""


class Package(msgspec.Struct, frozen=True):
    """One package's counter at a moment."""

    energy_uj: int
    range_uj: int
    """It begins again at zero after this much: at 200 W some tens of minutes, on old processors one."""


class Rapl:
    """The open counters of all packages."""

    def __init__(self, root: Path = ROOT) -> None:
        self._zones: list[tuple[Open, int]] = []
        self._why = _open(root, self._zones)
        if self._why:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self) -> tuple[Package, ...] | Absent:
        """Read every package; absent where one does not answer, since a sum without it would be wrong."""
        if not self._zones:
            return Absent(self._why or "the counters are closed")
        try:
            return tuple(Package(int(file.read()), range_uj) for file, range_uj in self._zones)
        except (OSError, ValueError) as error:
            return Absent(f"RAPL does not answer any more: {error}")

    def close(self) -> None:
        for file, _ in self._zones:
            file.close()
        self._zones.clear()


def _open(root: Path, zones: list[tuple[Open, int]]) -> str:
    """Open the packages' counters; return why there are none."""
    folder = root / _ZONES
    found = [zone for zone in sorted(folder.glob("intel-rapl:*")) if _PACKAGE.fullmatch(zone.name)]
    packages = [zone for zone in found if str(text(zone / "name")).startswith("package")]
    if not packages:
        return f"/{_ZONES} shows no package's energy (RAPL); virtual machines rarely do"
    for zone in packages:
        range_uj = integer(zone / "max_energy_range_uj")
        if isinstance(range_uj, Absent):
            return range_uj.reason
        try:
            zones.append((Open(zone / "energy_uj"), range_uj))
        except PermissionError:
            return f"/{_ZONES}/{zone.name}/energy_uj may be read by root only"
        except OSError as error:
            return f"/{_ZONES}/{zone.name}/energy_uj cannot be read: {error.strerror or error}"
    return ""


def spent_uj(before: Sequence[Package] | Absent, after: Sequence[Package] | Absent) -> Value:
    """Return the energy that all packages took between two readings.

    A counter that is lower than before has begun again once; that it did so twice cannot be seen, and would need a
    window of minutes at the least.
    """
    return if_known(_spent_uj, after, before)


def _spent_uj(after: Sequence[Package], before: Sequence[Package]) -> Value:
    if len(before) != len(after):
        return Absent("a processor was switched off or on meanwhile")
    return sum(
        new.energy_uj - old.energy_uj + (new.range_uj if new.energy_uj < old.energy_uj else 0)
        for old, new in zip(before, after, strict=True)
    )
