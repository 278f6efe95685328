"""PyTorch's DataLoader: processes of its own, which decode item by item and hand over whole batches."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from suite.backends.feeds.protocol import AHEAD, Feed, Wanted
from suite.backends.protocol import Arrays
from suite.zoo import dataset


class Items:
    """A map-style dataset; every process maps the file for itself."""

    def __init__(self, wanted: Wanted) -> None:
        self._path = wanted.path
        self._length = dataset.read(wanted.path).items
        self._records: dataset.Records | None = None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:  # noqa: ANN401  (a tensor)
        import torch

        if self._records is None:
            self._records = dataset.records(self._path)
        values = (self._records[index].astype(np.float32) - dataset.OFFSET) * dataset.SCALE
        return torch.from_numpy(values)


class Around:
    """Indices without end, in order: a batch may reach over the end into the beginning."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        index = 0
        while True:
            yield index
            index = (index + 1) % self._length


def open_feed(wanted: Wanted) -> Feed:
    """Start the loader's processes; they end when the feed is closed."""
    from torch.utils.data import DataLoader

    items: Any = Items(wanted)
    sampler: Any = Around(len(items))
    loader: Any = DataLoader(
        items, batch_size=wanted.batch, sampler=sampler, num_workers=wanted.workers, prefetch_factor=AHEAD
    )
    batches = iter(loader)

    def take() -> Arrays:
        values = next(batches).numpy()
        return {wanted.name: values.transpose(0, 3, 1, 2) if values.ndim == 4 else values}

    settings = {
        "feed": "DataLoader, items decoded in processes",
        "feed workers": str(wanted.workers),
        "batches ahead": f"{AHEAD} a worker",
    }
    return Feed(take, settings, batches._shutdown_workers)  # noqa: SLF001  (it has no other way to end them)
