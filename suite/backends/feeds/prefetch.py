"""A thread that decodes whole batches with NumPy ahead of the one who takes them."""

import queue
import threading

from suite.backends.feeds.protocol import AHEAD, Feed, Wanted
from suite.backends.protocol import Arrays
from suite.zoo import dataset


def open_feed(wanted: Wanted) -> Feed:
    """Start the thread; it ends when the feed is closed."""
    records = dataset.records(wanted.path)
    ready: queue.Queue[Arrays | BaseException] = queue.Queue(AHEAD)
    over = threading.Event()

    def make() -> None:
        start = 0
        while not over.is_set():
            try:
                batch: Arrays | BaseException = {wanted.name: dataset.decode(_next(records, start, wanted.batch))}
            except BaseException as error:  # noqa: BLE001  (whoever takes next gets it)
                batch = error
            start = (start + wanted.batch) % len(records)
            while not over.is_set():
                try:
                    ready.put(batch, timeout=0.1)
                    break
                except queue.Full:
                    continue

    def take() -> Arrays:
        batch = ready.get()
        if isinstance(batch, BaseException):
            raise batch
        return batch

    thread = threading.Thread(target=make, daemon=True)
    thread.start()

    def close() -> None:
        over.set()
        thread.join()

    return Feed(take, {"feed": "NumPy in a thread", "feed workers": "1", "batches ahead": str(AHEAD)}, close)


def _next(records: dataset.Records, start: int, count: int) -> dataset.Records:
    """Return the next records; after the last the first follows."""
    indices = range(start, start + count)
    if indices.stop <= len(records):
        return records[start : start + count]
    return records.take([index % len(records) for index in indices], axis=0)
