"""The roofline probe, for real: it takes its time and no more, and what it says can be."""

import time

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
