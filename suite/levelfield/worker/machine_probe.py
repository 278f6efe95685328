"""The state of the machine in a few milliseconds: arithmetic, memory and fresh pages, on all CPUs of the run at once.

A neighbour on the sibling hardware thread, one who takes memory bandwidth, and a hypervisor that is slow to give pages
show in no counter of a guest. They do in the time of a fixed piece of work. Each thread is pinned to a CPU of its own
and times its own part; of the threads the slowest is what a window beside it would have waited for. Every part is one
call of NumPy, which lets go of the interpreter's lock once and takes it back once, so that nothing of Python lies
inside a timed stretch but two readings of the clock.

==========  =======================================================  =========================================
part        what is timed                                            calm, on a virtual machine with two CPUs
==========  =======================================================  =========================================
arithmetic  `exp` of 2,048 float32, again and again: 8 KiB in, 8     0.9 ms
            KiB out, both stay in the first cache
memory      a word of each line of 4 MiB, the next 4 MiB of a        0.4 ms
            buffer that is several times the last cache
pages       the first write to 256 fresh pages of 4 KiB              0.6 ms
==========  =======================================================  =========================================

The first arithmetic after a sleep would also time how a CPU wakes up, so half as much is done before, untimed.
"""

import contextlib
import mmap
import os
import queue
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

from levelfield.record.measured import MachineProbe

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = 2_048
"""Of the arithmetic: two arrays of 8 KiB."""
REPEATS = 400
LINE_BYTES = 64
SLICE_BYTES = 4 << 20
"""What a thread reads of its part of the buffer in one probe."""
PAGE_BYTES = 4096
PAGES = 256
ANSWER_S = 30.0
"""After so long without an answer of all threads, a probe has failed."""


class ProbeThreads:
    """Threads that wait, one pinned to each CPU that this process may use; together they read so many bytes."""

    def __init__(self, buffer_bytes: int) -> None:
        cpus = sorted(os.sched_getaffinity(0))
        self.buffer_bytes = buffer_bytes
        self._answers: queue.SimpleQueue[int | OSError | MemoryError] = queue.SimpleQueue()
        self._threads = [_Thread(cpu, max(SLICE_BYTES, buffer_bytes // len(cpus)), self._answers) for cpu in cpus]
        self._all(_Thread.make)

    def probe(self) -> MachineProbe:
        """Return how long each part took in the slowest thread."""
        return MachineProbe(self.arithmetic_ns(), self._all(_Thread.memory), self._all(_Thread.pages))

    def arithmetic_ns(self) -> int:
        """Return how long the arithmetic alone took in the slowest thread."""
        self._all(_Thread.wake)
        return self._all(_Thread.arithmetic)

    def close(self) -> None:
        """End the threads."""
        for thread in self._threads:
            thread.post(None)

    def _all(self, part: "Callable[[_Thread], int]") -> int:
        for thread in self._threads:
            thread.post(part)
        answers = [self._answers.get(timeout=ANSWER_S) for _ in self._threads]
        for answer in answers:
            if not isinstance(answer, int):
                raise answer
        return max(answer for answer in answers if isinstance(answer, int))


class _Thread:
    """One thread on one CPU; each part returns its nanoseconds."""

    def __init__(self, cpu: int, buffer_bytes: int, answers: queue.SimpleQueue[int | OSError | MemoryError]) -> None:
        self._cpu = cpu
        self._buffer_bytes = buffer_bytes
        self._answers = answers
        self._parts: queue.SimpleQueue[Callable[[_Thread], int] | None] = queue.SimpleQueue()
        self._slice = 0
        threading.Thread(target=self._run, name=f"machine probe {cpu}", daemon=True).start()

    def post(self, part: "Callable[[_Thread], int] | None") -> None:
        self._parts.put(part)

    def make(self) -> int:
        """Pin the thread and make what it works on, so that its pages lie on its own memory node."""
        os.sched_setaffinity(0, {self._cpu})
        values = np.linspace(-1, 1, VALUES, dtype=np.float32)
        result = np.empty_like(values)
        again = (REPEATS, VALUES), (0, values.itemsize)
        self._values, self._result = as_strided(values, *again), as_strided(result, *again)
        lines = np.ones(self._buffer_bytes // 8, np.uint64)[:: LINE_BYTES // 8]
        size = SLICE_BYTES // LINE_BYTES
        self._slices = [lines[at : at + size] for at in range(0, lines.size - size + 1, size)]
        return 0

    def wake(self) -> int:
        half = REPEATS // 2
        np.exp(self._values[:half], out=self._result[:half])
        return 0

    def arithmetic(self) -> int:
        begin = time.perf_counter_ns()
        np.exp(self._values, out=self._result)
        return time.perf_counter_ns() - begin

    def memory(self) -> int:
        lines = self._slices[self._slice]
        self._slice = (self._slice + 1) % len(self._slices)
        begin = time.perf_counter_ns()
        np.add.reduce(lines)
        return time.perf_counter_ns() - begin

    def pages(self) -> int:
        fresh = mmap.mmap(-1, PAGES * PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # a kernel without huge pages
            fresh.madvise(mmap.MADV_NOHUGEPAGE)
        words = np.frombuffer(fresh, np.uint8)[::PAGE_BYTES]
        begin = time.perf_counter_ns()
        words[:] = 1
        took_ns = time.perf_counter_ns() - begin
        del words  # what is still exported cannot be closed
        fresh.close()
        return took_ns

    def _run(self) -> None:
        while (part := self._parts.get()) is not None:
            try:
                self._answers.put(part(self))
            except (OSError, MemoryError) as error:
                self._answers.put(error)
