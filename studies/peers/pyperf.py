"""pyperf as a contestant: a series of its processes for every window."""

from pathlib import Path

import msgspec

from studies.overhead.contestants import Pace, Reading, Target, python_of, run_program
from studies.peers.answers import TIMEOUT_S, Answer, answer_of
from studies.peers.inside import pyperf_series
from studies.peers.workspace import Workspace
from suite.launchers.protocol import WorkerPaths
from suite.schedule.resources import task_for
from suite.worker.messages import Task

TRIAL, OUT = "/trial", "/out"
"""Where its container sees the script, and writes its results."""


class Pyperf:
    """A series of pyperf around the step that Levelfield times; a window is a series of so many processes."""

    process = "pyperf"
    pid: int | None = None
    starts_anew = True

    def __init__(self, target: Target, workspace: Workspace, processes: int | None = None) -> None:
        self._target, self._workspace, self._processes = target, workspace, processes
        self.notes: dict[str, str] = {}
        workspace.keep("series.py", Path(pyperf_series.__file__).read_bytes())
        self._task = _task(target)
        self._python = python_of(target)

    def window(self, pace: Pace) -> Reading:
        """Take a series; its length is pyperf's own choice, not the pace's."""
        del pace
        found = self.series("window.json")
        return Reading(found.median_ns, found.calls, found.supervisor_share)

    def series(self, name: str, inject_ns: int = 0) -> Answer:
        """Take a series, and keep what pyperf writes."""
        request = pyperf_series.Request(self._task, inject_ns)
        self._workspace.keep(pyperf_series.REQUEST, msgspec.json.encode(request))
        (self._workspace.out / name).unlink(missing_ok=True)
        command = [self._python, "-P", f"{TRIAL}/series.py", "--copy-env", "--output", f"{OUT}/{name}"]
        if self._processes is not None:
            command += ["--processes", str(self._processes)]
        self.notes = {"command": " ".join(command)}
        return answer_of(self._run("pyperf", command), "pyperf")

    def compare(self, first: str, second: str) -> str:
        """Let pyperf compare two of its files, and return what it prints."""
        command = [self._python, "-P", "-m", "pyperf", "compare_to", f"{OUT}/{first}", f"{OUT}/{second}"]
        return self._run("pyperf compare_to", command).strip()

    def _run(self, name: str, command: list[str]) -> str:
        artifacts = {"/artifacts": (self._target.resources.artifacts.root, "ro")}
        folders = {**artifacts, **self._workspace.folders("trial", "out")}
        return run_program(self._target, name, command, folders, TIMEOUT_S)


def _task(target: Target) -> Task:
    paths = WorkerPaths(artifacts="/artifacts", cache=None, export=None)
    return task_for(target.resources, target.case, target.arm, paths)
