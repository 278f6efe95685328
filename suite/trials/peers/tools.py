"""Other tools as contestants: each is run to its end, in an image of its own, for every window."""

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from suite.errors import LevelfieldError
from suite.images.build import build
from suite.launchers.docker import NOBODY
from suite.launchers.protocol import WorkerPaths
from suite.schedule.resources import task_for
from suite.trials import form_worker
from suite.trials.form_worker import TRANSFORMERS
from suite.trials.overhead.contestants import InlineProcess, Pace, Reading, Target, python_of, run_program
from suite.trials.peers import folder
from suite.trials.peers.inside import optimum_benchmark, pyperf_series
from suite.trials.peers.inside.optimum_benchmark import ANSWER
from suite.worker.messages import Task
from suite.zoo import models

PYPERF, OPTIMUM_BENCHMARK = "peer-pyperf", "peer-optimum-benchmark"
"""Names of their images."""
MODEL, TRIAL, OUT = "/model", "/trial", "/out"
"""Where a container sees the folder of a model, of a script, and of its results."""
TIMEOUT_S = 900.0


class Answer(msgspec.Struct, frozen=True):
    """What a tool reports of a call, and what its supervisor took."""

    median_ns: float
    calls: int
    supervisor_share: float | None
    """CPU time of the tool's first process while it waited for those that are measured, as a share of one core."""
    wall_s: float


def in_image(target: Target, image: str) -> Target:
    """Return a target that runs in another tool's image.

    Parameters
    ----------
    target : Target
        Case and arm.
    image : str
        Its name in the catalogue; it is built where it is missing.
    """
    return target._replace(other_image=build(image).tag)


def answer_of(output: str, name: str) -> Answer:
    """Read the last answer in what a program printed.

    Parameters
    ----------
    output : str
        All that it printed.
    name : str
        Of the program, in messages.

    Raises
    ------
    LevelfieldError
        It holds none, or none that can be a time.
    """
    lines = [line.removeprefix(ANSWER) for line in output.splitlines() if line.startswith(ANSWER)]
    try:
        found = msgspec.json.decode(lines[-1], type=Answer)
    except (IndexError, msgspec.MsgspecError) as error:
        raise LevelfieldError(f"{name} gave no answer.", fix=f"Its last words: {output[-800:]}") from error
    if not found.median_ns > 0 or found.calls < 1:
        raise LevelfieldError(f"{name} answered that a call takes {found.median_ns} ns, of {found.calls} calls.")
    return found


class Workspace:
    """Folders that containers see, removed in the end: `/trial` read-only, `/out` for results."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="levelfield-trial-"))
        self.root.chmod(0o755)
        for name in ("trial", "out", "model"):
            (self.root / name).mkdir()
        self.out = self.root / "out"
        if os.getuid() == 0:
            os.chown(self.out, NOBODY, NOBODY)

    def keep(self, name: str, content: bytes) -> None:
        """Write a file that containers see under `/trial`.

        Parameters
        ----------
        name : str
            Of the file.
        content : bytes
            The whole of it.
        """
        path = self.root / "trial" / name
        path.write_bytes(content)
        path.chmod(0o644)

    def folders(self, *names: str) -> dict[str, tuple[Path, str]]:
        """Return some of the folders as `plain_container` takes them.

        Parameters
        ----------
        *names : str
            `trial`, `out` or `model`.
        """
        return {f"/{name}": (self.root / name, "rw" if name == "out" else "ro") for name in names}

    def close(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Pyperf:
    """A series of pyperf around the step that Levelfield times; a window is a series of so many processes.

    Parameters
    ----------
    target : Target
        Case and arm, in pyperf's image.
    workspace : Workspace
        Where script and results lie.
    processes : int or None
        Of a series; None: pyperf's own default (20).
    """

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
        """Take a series, and keep what pyperf writes.

        Parameters
        ----------
        name : str
            Of pyperf's own file.
        inject_ns : int
            A busy-wait at the end of every call.

        Raises
        ------
        LevelfieldError
            pyperf failed, or gave no answer.
        """
        request = pyperf_series.Request(self._task, inject_ns)
        self._workspace.keep(pyperf_series.REQUEST, msgspec.json.encode(request))
        (self._workspace.out / name).unlink(missing_ok=True)
        command = [self._python, "-P", f"{TRIAL}/series.py", "--copy-env", "--output", f"{OUT}/{name}"]
        if self._processes is not None:
            command += ["--processes", str(self._processes)]
        self.notes = {"command": " ".join(command)}
        return answer_of(self._run("pyperf", command), "pyperf")

    def compare(self, first: str, second: str) -> str:
        """Let pyperf compare two of its files, and return what it prints.

        Parameters
        ----------
        first, second : str
            Names of the files.
        """
        command = [self._python, "-P", "-m", "pyperf", "compare_to", f"{OUT}/{first}", f"{OUT}/{second}"]
        return self._run("pyperf compare_to", command).strip()

    def _run(self, name: str, command: list[str]) -> str:
        artifacts = {"/artifacts": (self._target.resources.artifacts.root, "ro")}
        folders = {**artifacts, **self._workspace.folders("trial", "out")}
        return run_program(self._target, name, command, folders, TIMEOUT_S)


class OptimumBenchmark:
    """optimum-benchmark on a folder of transformers; every window is a run of its own.

    Parameters
    ----------
    target : Target
        Case and arm, in optimum-benchmark's image.
    workspace : Workspace
        Holds the model's folder.
    quick : bool
        Whether it gets a short duration and few calls to warm up, instead of its own defaults.
    """

    process = "optimum-benchmark"
    pid: int | None = None
    starts_anew = True

    def __init__(self, target: Target, workspace: Workspace, *, quick: bool = False) -> None:
        self._target, self._workspace = target, workspace
        self.notes: dict[str, str] = {}
        self._request = optimum_benchmark.Request(
            model=MODEL,
            batch=target.case.batch,
            sequence=models.get(target.case.model).inputs[0].shape[0],
            duration_s=1 if quick else None,
            iterations=3 if quick else None,
            warmups=2 if quick else None,
        )
        code = Path(optimum_benchmark.__file__).read_text(encoding="utf-8")
        self._command = [python_of(target), "-P", "-c", code, msgspec.json.encode(self._request).decode()]

    def window(self, pace: Pace) -> Reading:
        """Run it once; how long is its own choice, not the pace's.

        Raises
        ------
        LevelfieldError
            It failed, or gave no answer.
        """
        del pace
        name = "optimum-benchmark"
        found = answer_of(
            run_program(self._target, name, self._command, self._workspace.folders("model"), TIMEOUT_S), name
        )
        self.notes = {"request": msgspec.json.encode(self._request).decode()}
        return Reading(found.median_ns, found.calls, found.supervisor_share)


class FolderProcess(InlineProcess):
    """A plain container of optimum-benchmark's image with a bare loop around the model of the same folder.

    Parameters
    ----------
    target : Target
        Case and arm, in optimum-benchmark's image.
    workspace : Workspace
        Holds the model's folder.

    Raises
    ------
    LevelfieldError
        What it computes is not equal to the reference.
    """

    process = "bare"

    def __init__(self, target: Target, workspace: Workspace) -> None:
        super().__init__(
            target, f"bare loop around transformers' {target.case.model}", None, workspace.folders("model")
        )
        try:
            self.verify(target, form_worker.FormsRequest(self.task, (TRANSFORMERS,), folder=MODEL))
        except BaseException:
            self.close()
            raise


def write_model(workspace: Workspace, model: str) -> None:
    """Write the model's folder where containers see it, if it is not there yet.

    Parameters
    ----------
    workspace : Workspace
        Holds it.
    model : str
        Name of the model.

    Raises
    ------
    LevelfieldError
        The model cannot be written as such a folder.
    """
    place = workspace.root / "model"
    if not (place / folder.CONFIG).exists():
        folder.write(model, place)
        for file in place.iterdir():
            file.chmod(0o644)


def _task(target: Target) -> Task:
    paths = WorkerPaths(artifacts="/artifacts", cache=None, export=None)
    return task_for(target.resources, target.case, target.arm, paths)
