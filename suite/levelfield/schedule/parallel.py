"""Several long jobs at once, each mostly waiting for another program."""

import queue
import threading
from collections.abc import Callable, Sequence

JOIN_S = 0.2
"""How long the waiting thread sleeps before it looks for an interrupt again."""


def run(jobs: Sequence[Callable[[], None]], *, at_once: int) -> None:
    """Run jobs in threads, in their order; the first error or interrupt ends the wait.

    The threads are daemons: after an error or Ctrl-C no job that is under way is waited for, and it ends with the
    process.

    Raises BaseException: what a job raised first.
    """
    waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    problems: list[BaseException] = []

    def work() -> None:
        try:
            while not problems:
                waiting.get_nowait()()
        except queue.Empty:
            return
        except BaseException as problem:  # noqa: BLE001  (handed to the waiting thread)
            problems.append(problem)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, len(jobs)))]
    for thread in threads:
        thread.start()
    while not problems and any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(JOIN_S)
            if problems:
                break
    if problems:
        raise problems[0]
