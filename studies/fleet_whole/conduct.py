"""Running `levelfield fleet run` in a process of its own, and looking at what it and its nodes wrote."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from studies.fleet_head import PLAN
from suite.errors import LevelfieldError, printable
from suite.fleet.run import cluster, local_cluster, store
from suite.fleet.run.node import FOLDER
from suite.fleet.run.state import State
from suite.paths import cache_folder
from suite.record import files, journal
from suite.record.append_only import Lost
from suite.record.journal import Event, Resumed, RoundDone
from suite.record.schema import Run

WORDS = (*PLAN, "--threads", "1,2")
"""Two cases, a run of some ten seconds."""
LIMIT_S = 600.0
"""Of one `fleet run`; it takes about a minute."""
_TAIL_CHARACTERS = 800


class Ended(NamedTuple):
    """A command that ended."""

    code: int
    output: str


class Fleet:
    """One fleet of the trial.

    Parameters
    ----------
    name
        Of the fleet.
    folder
        For its reports and what its head prints.
    address
        Of the cluster.
    """

    def __init__(self, name: str, folder: Path, address: str) -> None:
        self.name, self.reports = name, folder / "reports"
        self._address = address
        self._log = folder / f"{name}.log"

    @property
    def folder(self) -> Path:
        """The folder with the runs that came back."""
        return store.folder(self.name, self.reports)

    @property
    def state(self) -> State:
        """How far the fleet is, by its journal."""
        return store.load(self.name, self.reports)

    def begin(self, *words: str, resume: bool = False) -> "subprocess.Popen[bytes]":
        """Start its head.

        Parameters
        ----------
        *words
            Further options; the plan is that of `WORDS`.
        resume
            Whether it goes on with the fleet.
        """
        which = ("--resume", self.name) if resume else ("--name", self.name, *WORDS)
        command = ("fleet", "run", "--on", self._address, "--reports", str(self.reports), *which, *words)
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "suite.cli", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
            )

    def end(self, head: "subprocess.Popen[bytes]") -> Ended:
        """Wait for its head."""
        try:
            code = head.wait(LIMIT_S)
        finally:
            head.kill()
            head.wait()
        return Ended(code, self.said)

    @property
    def said(self) -> str:
        """All that its heads printed."""
        return printable(self._log.read_text(encoding="utf-8", errors="replace"))

    def run(self, *words: str) -> Ended:
        """Run it from beginning to end.

        Parameters
        ----------
        *words
            Further options.
        """
        return self.end(self.begin(*words))

    def node_of(self, number: int) -> str:
        """Return what the fleet calls a node of this machine; empty as long as it did not see it."""
        machine = cluster.machine_of(local_cluster.name_of(number))
        with contextlib.suppress(LevelfieldError):
            return next((each.name for each in self.state.nodes.values() if each.machine == machine), "")
        return ""

    def rounds(self, node: str) -> int:
        """Return how many rounds the journal of a node's run holds; 0 where there is none yet."""
        with contextlib.suppress(LevelfieldError):
            return sum(isinstance(each, RoundDone) for each in self.cut_off(node))
        return 0

    def cut_off(self, node: str) -> list[Event | Lost]:
        """Return what a node's run had written before it was resumed, from the journal in the node's cache.

        Raises
        ------
        LevelfieldError
            No run of it has a journal, or several have.
        """
        where = cache_folder(FOLDER) / self.state.begun.fleet / node / "0" / "reports"
        found = sorted(where.glob(f"*/{files.JOURNAL}"))
        if len(found) != 1:
            raise LevelfieldError(f"{node} has {len(found)} runs under way.")
        events = journal.read(found[0])
        return events[: next((at for at, each in enumerate(events) if isinstance(each, Resumed)), len(events))]

    def record(self, node: str) -> Run:
        """Read the record that came back from a node.

        Raises
        ------
        LevelfieldError
            None did.
        """
        runs = self.state.nodes[node].runs
        if not runs:
            raise LevelfieldError(f"{node} has no run: {self.said[-_TAIL_CHARACTERS:]}")
        return files.read(self.folder / node / runs[-1].run)

    def contents(self) -> list[bytes]:
        """Return the records of all nodes, as they came back."""
        return [path.read_bytes() for path in sorted(self.folder.glob(f"*/*/{files.NAME}"))]
