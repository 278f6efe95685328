"""Two ceilings of this machine, seen with NumPy: how fast it multiplies matrices, and how fast it moves memory.

Both are lower bounds of what the machine can do: another library may multiply faster, and other instructions may move
more. They are a yardstick that is the same for every framework, since none of them made it.

References
----------
S. Williams, A. Waterman, D. Patterson (2009). Roofline: an insightful visual performance model for multicore
architectures. Communications of the ACM 52(4), 65–76.
J. D. McCalpin (1995). Memory bandwidth and machine balance in current high performance computers. IEEE TCCA Newsletter
(STREAM: its copy and add are what is timed here; bytes are counted as there, without those of a write-allocate).
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from levelfield.backends import canary
from levelfield.record.measured import RooflineSamples
from levelfield.worker.messages import MeasureRoofline

SMALLEST, LARGEST = 256, 4096
"""Sizes of the matrices: too small, and the cost of starting threads shows; larger ones are no faster."""
LEAST, MOST = 3, 25
"""Samples of each kind."""
SHARE = 8
"""A sample may take this part of the budget."""


def measure(request: MeasureRoofline) -> RooflineSamples:
    """Time matrix products, and copies and sums of long arrays, each for about the budget's time."""
    threads_used = canary.set_threads(request.threads)
    size, gemm_ns = _products(request.budget_ns)
    copy_ns, add_ns = _passes(request.array_bytes, request.threads, request.budget_ns)
    return RooflineSamples(
        threads=request.threads,
        gemm_size=size,
        gemm_ns=gemm_ns,
        array_bytes=request.array_bytes,
        copy_ns=copy_ns,
        add_ns=add_ns,
        blas_threads=threads_used,
    )


def _products(budget_ns: int) -> tuple[int, tuple[int, ...]]:
    """Multiply the largest square matrices of which several products fit into the budget."""
    size = SMALLEST
    while True:
        product = _product(size)
        product()
        took_ns = min(_timed(product) for _ in range(LEAST))  # the least: a hiccup must not choose the size
        if 2 * size > LARGEST or 8 * took_ns > budget_ns // SHARE:
            return size, _samples(product, budget_ns)
        size *= 2


def _product(size: int) -> Callable[[], object]:
    left = (np.arange(size * size, dtype=np.float32) % 7 - 3).reshape(size, size)
    right = (np.arange(size * size, dtype=np.float32) % 5 - 2).reshape(size, size)
    return partial(np.matmul, left, right, out=np.empty_like(left))


def _passes(array_bytes: int, threads: int, budget_ns: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Copy and add arrays, every thread a part of its own: NumPy lets go of the interpreter's lock meanwhile."""
    items = max(1, array_bytes // 4 // threads)
    with ThreadPoolExecutor(threads) as pool:
        # Each thread makes its own part, so that its pages lie on its own memory node.
        parts = list(
            pool.map(lambda _: tuple(np.full(items, value, np.float32) for value in (0, 1, 2)), range(threads))
        )

        def everywhere(work: Callable[[int], object]) -> Callable[[], object]:
            return lambda: list(pool.map(work, range(threads)))

        copy = everywhere(lambda part: np.copyto(parts[part][0], parts[part][1]))
        add = everywhere(lambda part: np.add(parts[part][1], parts[part][2], out=parts[part][0]))
        return _samples(copy, budget_ns // 2), _samples(add, budget_ns // 2)


def _samples(work: Callable[[], object], budget_ns: int) -> tuple[int, ...]:
    work()
    end = time.perf_counter_ns() + budget_ns
    samples: list[int] = []
    while len(samples) < LEAST or (len(samples) < MOST and time.perf_counter_ns() < end):
        samples.append(_timed(work))
    return tuple(samples)


def _timed(work: Callable[[], object]) -> int:
    begin = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - begin
