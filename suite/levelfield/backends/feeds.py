"""How batches come from a dataset on disk: each framework's own way, or a thread with NumPy where it has none.

A feed gives batches without end, in the order of the file, made ahead of the calls that take them.
"""

import itertools
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from levelfield.backends.protocol import Arrays
from levelfield.zoo import dataset
from levelfield.zoo.weights import HEADER_BYTES

AHEAD = 2
"""Batches that are kept ready, each framework's own default where it has one of that kind."""


class FeedRequest(msgspec.Struct, frozen=True):
    """What a feed reads, and in which batches."""

    path: Path
    """A dataset as `zoo.dataset` writes it."""
    name: str
    """Name of the model's only input."""
    batch: int
    workers: int
    """Processes or threads that make batches, beside the one that takes them."""


class Feed(msgspec.Struct, frozen=True):
    """An open feed."""

    take: Callable[[], Arrays]
    """Return the next batch, waiting for it where it is not ready; after the last item the first one follows."""
    settings: dict[str, str]
    """How it reads, for the record."""
    close: Callable[[], None]


def prefetch(request: FeedRequest) -> Feed:
    """Decode whole batches with NumPy ahead of the calls, in a thread that ends when the feed is closed."""
    records = dataset.records(request.path)
    starts = itertools.count(0, request.batch)
    pool = ThreadPoolExecutor(1)

    def make(start: int) -> Arrays:
        return {request.name: dataset.decode(_next(records, start % len(records), request.batch))}

    # Beside the batches that are ready, one is being made.
    batches: deque[Future[Arrays]] = deque(pool.submit(make, next(starts)) for _ in range(AHEAD + 1))

    def take() -> Arrays:
        batch = batches.popleft().result()
        batches.append(pool.submit(make, next(starts)))
        return batch

    settings = {"feed": "NumPy in a thread", "feed workers": "1", "batches ahead": str(AHEAD)}
    return Feed(take, settings, lambda: pool.shutdown(cancel_futures=True))


def _next(records: dataset.Records, start: int, count: int) -> dataset.Records:
    """Return the next records; after the last the first follows."""
    if start + count <= len(records):
        return records[start : start + count]
    return records.take(range(start, start + count), axis=0, mode="wrap")


def tf_data(request: FeedRequest) -> Feed:
    """Read records of one length with tf.data, decoded in TensorFlow's own threads, which end with the pipeline."""
    import tensorflow as tf

    header = dataset.read(request.path)

    def decoded(record: Any) -> Any:  # noqa: ANN401  (a tensor)
        values = tf.reshape(tf.io.decode_raw(record, tf.uint8), header.shape)
        return (tf.cast(values, tf.float32) - float(dataset.OFFSET)) * float(dataset.SCALE)

    files = tf.data.FixedLengthRecordDataset(
        str(request.path), record_bytes=header.record_bytes, header_bytes=HEADER_BYTES
    )
    pipeline = (
        files.repeat()
        .map(decoded, num_parallel_calls=request.workers, deterministic=True)
        .batch(request.batch, drop_remainder=True)
        .prefetch(AHEAD)
    )
    batches = pipeline.as_numpy_iterator()

    def take() -> Arrays:
        return {request.name: dataset.channels_first(next(batches))}

    settings = {
        "feed": "tf.data, items decoded in threads",
        "feed workers": str(request.workers),
        "batches ahead": str(AHEAD),
    }
    return Feed(take, settings, lambda: None)  # the pipeline ends with the process


class _Items:
    """A map-style dataset; every process maps the file for itself."""

    def __init__(self, request: FeedRequest) -> None:
        self._path = request.path
        self._length = dataset.read(request.path).items
        self._records: dataset.Records | None = None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:  # noqa: ANN401  (a tensor)
        import torch

        if self._records is None:
            self._records = dataset.records(self._path)
        values = (self._records[index].astype(np.float32) - dataset.OFFSET) * dataset.SCALE
        return torch.from_numpy(values)


def torch_loader(request: FeedRequest) -> Feed:
    """Decode item by item in the processes of PyTorch's DataLoader; they end when the feed is closed."""
    from torch.utils.data import DataLoader

    items: Any = _Items(request)
    in_turn: Any = itertools.cycle(range(len(items)))
    loader: Any = DataLoader(
        items, batch_size=request.batch, sampler=in_turn, num_workers=request.workers, prefetch_factor=AHEAD
    )
    batches = iter(loader)

    def take() -> Arrays:
        return {request.name: dataset.channels_first(next(batches).numpy())}

    settings = {
        "feed": "DataLoader, items decoded in processes",
        "feed workers": str(request.workers),
        "batches ahead": f"{AHEAD} a worker",
    }
    return Feed(take, settings, batches._shutdown_workers)  # noqa: SLF001  (it has no other way to end them)


def open_feed(way: str, request: FeedRequest) -> Feed:
    """Open a feed; `way`: `BackendInfo.feed` of the backend that it is for."""
    return {"prefetch": prefetch, "tf_data": tf_data, "torch_loader": torch_loader}[way](request)
