"""A model fed from a dataset on disk: every call takes the next batch, waits for it where it must, and computes."""

import time
from pathlib import Path

import msgspec

from levelfield.backends import feeds, registry
from levelfield.backends.feeds import Feed, FeedRequest
from levelfield.backends.protocol import Arrays, Resident
from levelfield.record.measured import Window
from levelfield.worker.messages import FROM_DATASET, Measure, Task
from levelfield.worker.window import measure_window
from levelfield.zoo import dataset, models

READY = 8
"""Batches that may be ready when a window begins, since they were made in the windows of other arms. So many calls are
made before it at the least, or the first samples would not wait as the later ones do."""


class Fed:
    """An open feed around a loaded model."""

    def __init__(self, task: Task, loaded: Resident) -> None:
        self._feed = open_feed(task)
        self._loaded = loaded
        self._waits: list[int] = []
        self.settings = self._feed.settings

    def run(self, _: object) -> object:
        """Take the next batch and compute it."""
        begin = time.perf_counter_ns()
        batch = self._feed.take()
        self._waits.append(time.perf_counter_ns() - begin)
        return self._loaded.run(self._loaded.place(batch))

    def answer(self) -> object:
        """Return the output for the next batch."""
        return self._loaded.fetch(self.run(None))

    def measure(self, request: Measure) -> Window:
        """Take one window, with what each of its calls waited for data."""
        self._waits.clear()
        rewarm = max(request.rewarm_calls, READY) if request.rewarm_calls else 0
        window = measure_window(self.run, (None,), msgspec.structs.replace(request, rewarm_calls=rewarm))
        return msgspec.structs.replace(window, waited_ns=sum(self._waits[-len(window.samples_ns) :]))

    def close(self) -> None:
        self._feed.close()


def open_feed(task: Task) -> Feed:
    """Open the feed of a task's backend; raises `ValueError` where no dataset was given, or it is not one."""
    request = FeedRequest(
        path=_path(task),
        name=dataset.tensor(models.get(task.model)).name,
        batch=task.batch,
        workers=max(1, task.threads // 2),
    )
    return feeds.open_feed(registry.get(task.backend).feed, request)


def batch_of(task: Task, start: int) -> Arrays:
    """Return a batch of a task's dataset, read without its feed; raises ValueError where no dataset was given."""
    return dataset.batch(models.get(task.model), _path(task), start, task.batch)


def _path(task: Task) -> Path:
    if task.dataset_path is None:
        raise ValueError(f"{FROM_DATASET} reads a dataset, and none was given.")
    return Path(task.dataset_path)
