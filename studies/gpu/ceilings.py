"""How fast a GPU multiplies large matrices in each precision, and copies its own memory, through torch; by events."""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from suite.backends.protocol import Unsupported
from suite.backends.torch import choose_tf32

SIZE = 8192
"""Rows and columns of both matrices."""
COPIED_BYTES = 4 << 30
REPEATS = 12
WARM_UPS = 3


class Ceilings(msgspec.Struct, frozen=True):
    """The fastest this card was seen to be."""

    gpu: str
    products_tflops: dict[str, float]
    """10¹² operations a second by precision, 2 n³ operations a product, random numbers; median of the repeats."""
    copy_tbs: float
    """10¹² bytes a second, read and written both counted; median of the repeats."""


def measure() -> Ceilings:
    """Measure both."""
    import torch

    if not torch.cuda.is_available():
        raise Unsupported("torch sees no GPU.")
    found: dict[str, float] = {}
    for precision, dtype in (("fp32", "float32"), ("tf32", "float32"), ("bf16", "bfloat16"), ("fp16", "float16")):
        choose_tf32(torch, on=precision == "tf32")
        a, b = (torch.randn(SIZE, SIZE, device="cuda").to(getattr(torch, dtype)) for _ in range(2))
        found[precision] = 2 * SIZE**3 / _median_s(torch, partial(torch.matmul, a, b)) / 1e12
    choose_tf32(torch, on=False)
    source = torch.randint(0, 255, (COPIED_BYTES,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copied = 2 * COPIED_BYTES / _median_s(torch, partial(target.copy_, source)) / 1e12
    return Ceilings(torch.cuda.get_device_name(), found, copied)


def _median_s(torch: Any, call: Callable[[], object]) -> float:  # noqa: ANN401  (a module without types)
    times: list[float] = []
    for _ in range(WARM_UPS + REPEATS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times[WARM_UPS:])
