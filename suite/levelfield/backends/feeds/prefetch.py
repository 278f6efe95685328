"""A thread that decodes whole batches with NumPy ahead of the calls that take them."""

import itertools
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from levelfield.backends.feeds.protocol import AHEAD, Feed, FeedRequest
from levelfield.backends.protocol import Arrays
from levelfield.zoo import dataset


def open_feed(request: FeedRequest) -> Feed:
    """Start the thread; it ends when the feed is closed."""
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
