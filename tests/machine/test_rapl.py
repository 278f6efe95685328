"""The processor's energy counters, as the kernel shows them in files."""

from pathlib import Path

from levelfield.machine.rapl import Package, Rapl, spent_uj
from levelfield.record.schema import Absent

RANGE_UJ = 262_143_328_850


def zone(root: Path, name: str, what: str, energy_uj: int, range_uj: int = RANGE_UJ) -> Path:
    folder = root / "sys/class/powercap" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{what}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    return folder / "energy_uj"


def two_sockets(root: Path) -> tuple[Path, Path]:
    """A server of two packages, with parts beneath them, the same again by another way, and the whole board."""
    first = zone(root, "intel-rapl:0", "package-0", 1_000_000)
    zone(root, "intel-rapl:0:0", "core", 600_000)
    zone(root, "intel-rapl:0:1", "dram", 300_000)
    zone(root, "intel-rapl-mmio:0", "package-0", 1_000_000)
    second = zone(root, "intel-rapl:1", "package-1", 2_000_000)
    zone(root, "intel-rapl:2", "psys", 9_000_000)
    return first, second


def test_packages_are_added_up_and_nothing_twice(tmp_path: Path) -> None:
    first, second = two_sockets(tmp_path)
    with Rapl(tmp_path) as rapl:
        before = rapl.read()
        assert before == (Package(1_000_000, RANGE_UJ), Package(2_000_000, RANGE_UJ))
        first.write_text("1500000\n")
        second.write_text("2250000\n")
        assert spent_uj(before, rapl.read()) == 750_000


def test_a_counter_that_began_again(tmp_path: Path) -> None:
    first, _ = two_sockets(tmp_path)
    first.write_text(f"{RANGE_UJ - 40_000}\n")
    with Rapl(tmp_path) as rapl:
        before = rapl.read()
        first.write_text("60000\n")
        assert spent_uj(before, rapl.read()) == 100_000


def test_a_package_that_stops_answering_makes_no_wrong_sum(tmp_path: Path) -> None:
    first, _ = two_sockets(tmp_path)
    with Rapl(tmp_path) as rapl:
        before = rapl.read()
        first.write_text("")
        after = rapl.read()
    assert isinstance(after, Absent)
    assert spent_uj(before, after) == after
    assert isinstance(spent_uj(before, (Package(1, 1),)), Absent)
