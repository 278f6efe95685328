"""Data-parallel training in PyTorch: DistributedDataParallel over gloo (NCCL on GPUs, unverified).

Gradients are averaged in buckets, while the backward pass still computes the next ones.

References
----------
https://docs.pytorch.org/docs/stable/notes/ddp.html
"""

import datetime as dt
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from levelfield.backends.parallel import Replica

TIMEOUT = dt.timedelta(minutes=10)
"""The supervisor's own limits are shorter, or about as long."""


def replicated(module: Any, replica: Replica, device: str) -> Any:  # noqa: ANN401 (torch has no types here)
    """Connect to the other processes once, and wrap a module so that its gradients are the mean of all."""
    if not dist.is_initialized():
        # gloo would look this host's name up, which a container without a network cannot.
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        dist.init_process_group(
            _library(device),
            init_method=f"tcp://{replica.authorities[0]}",
            rank=replica.rank,
            world_size=replica.processes,
            timeout=TIMEOUT,
        )
    return torch.nn.parallel.DistributedDataParallel(module)


def all_reduce(numbers: int, device: str) -> Callable[[], float]:
    """Return a call that sums float32 ones over all processes; see `SumsOverProcesses`."""
    ones = torch.ones(numbers, dtype=torch.float32, device=device)

    def call() -> float:
        ones[0] = 1.0  # the sum takes its place; only the first number is looked at
        dist.all_reduce(ones)
        return float(ones[0].item())

    return call


def settings() -> dict[str, str]:
    """Read back which engine it is."""
    return {"engine": f"DistributedDataParallel over {dist.get_backend()}", "processes": str(dist.get_world_size())}


def _library(device: str) -> str:
    return "gloo" if device == "cpu" else "nccl"
