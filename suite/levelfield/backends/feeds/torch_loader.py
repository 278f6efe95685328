"""PyTorch's DataLoader: processes of its own, which decode item by item and hand over whole batches."""

import itertools
from typing import Any

import numpy as np

from levelfield.backends.feeds.protocol import AHEAD, Feed, FeedRequest
from levelfield.backends.protocol import Arrays
from levelfield.zoo import dataset


class Items:
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


def open_feed(request: FeedRequest) -> Feed:
    """Start the loader's processes; they end when the feed is closed."""
    from torch.utils.data import DataLoader

    items: Any = Items(request)
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
