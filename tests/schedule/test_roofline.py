"""The roofline probe of a run: measured once, kept in the journal, absent with a reason where it cannot be."""

from pathlib import Path

import pytest

from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.record.schema import Absent, Run
from levelfield.run.options import Options
from levelfield.run.start import start_run
from levelfield.schedule import roofline
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.resources import RunResources
from tests.canaries import plan, site, workers


def begun(reports: Path) -> tuple[Path, RunResources]:
    made = plan("latency", "memory")
    where = site(made)
    return start_run(made, Options(seed=7, reports=reports), where), where


def record(folder: Path) -> Run:
    return journal.fold(journal.read(folder / JOURNAL))


def test_it_is_measured_once_and_kept(reports: Path) -> None:
    folder, where = begun(reports)
    assert isinstance(record(folder).roofline, Absent)
    roofline.probe(folder, where, SilentListener())
    assert not workers()
    found = record(folder).roofline
    assert not isinstance(found, Absent)
    (one,) = found
    assert (one.threads, one.blas_threads) == (1, "1")
    assert min(*one.gemm_ns, *one.copy_ns, *one.add_ns) > 0
    before = (folder / JOURNAL).read_bytes()
    roofline.probe(folder, where, SilentListener())  # as a resumed run does
    assert (folder / JOURNAL).read_bytes() == before


@pytest.mark.parametrize(
    ("cache_bytes", "memory_bytes", "expected"),
    [
        (32 << 20, 12 << 30, 128 << 20),
        (1 << 20, 12 << 30, 64 << 20),
        (1 << 30, 12 << 30, 512 << 20),
        (32 << 20, 240 << 20, 40 << 20),
        (Absent("the kernel shows no caches"), 12 << 30, 64 << 20),
    ],
)
def test_arrays_are_several_caches_long_and_fit(cache_bytes: int | Absent, memory_bytes: int, expected: int) -> None:
    assert roofline.array_bytes(cache_bytes, memory_bytes) == expected
