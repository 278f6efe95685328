"""The roofline probe, for real: it takes its time and no more, and what it says can be."""

import time

import numpy as np
import pytest

from levelfield.worker.messages import MeasureRoofline
from levelfield.worker.roofline import LEAST, SMALLEST, measure

ARRAY_BYTES = 8 << 20


@pytest.mark.parametrize("threads", [1, 2])
def test_it_measures_for_about_its_budget(threads: int) -> None:
    began = time.perf_counter_ns()
    found = measure(MeasureRoofline(threads=threads, array_bytes=ARRAY_BYTES, budget_ns=50_000_000))
    assert time.perf_counter_ns() - began < 20 * 50_000_000
    assert found.threads == threads
    assert found.blas_threads == str(threads)
    assert found.gemm_size >= SMALLEST
    assert found.array_bytes == ARRAY_BYTES
    for samples in (found.gemm_ns, found.copy_ns, found.add_ns):
        assert len(samples) >= LEAST
        assert min(samples) > 0


def test_its_rates_are_those_of_a_computer() -> None:
    found = measure(MeasureRoofline(threads=1, array_bytes=32 << 20, budget_ns=100_000_000))
    flops_per_s = 2 * found.gemm_size**3 / (np.median(found.gemm_ns) / 1e9)
    bytes_per_s = 2 * found.array_bytes / (np.median(found.copy_ns) / 1e9)
    assert 1e8 < flops_per_s < 1e13
    assert 1e8 < bytes_per_s < 1e12
    # A sum reads one array more than a copy; on no machine does it take less than half as long.
    assert np.median(found.add_ns) > np.median(found.copy_ns) / 2
