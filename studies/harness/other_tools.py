"""pyperf and optimum-benchmark as contestants, and a bare loop around the network that the latter is given."""

from pathlib import Path

import msgspec

from levelfield.launchers.protocol import WorkerPaths
from levelfield.schedule.resources import task_for
from levelfield.zoo import models
from studies.harness import folder, form_worker, optimum_benchmark_program, pyperf_program
from studies.harness.contestants import InlineProcess, Pace, Reading, Target, python_of, run_program
from studies.harness.workspace import TIMEOUT_S, Workspace, reading_of

MODEL = "/model"
"""Where containers see the folder of the model."""


class Pyperf:
    """A series of pyperf around the step that Levelfield times; a window is a series of so many processes."""

    process = "pyperf"
    pid: int | None = None
    starts_anew = True

    def __init__(self, target: Target, workspace: Workspace, processes: int) -> None:
        self._target, self._workspace = target, workspace
        paths = WorkerPaths(artifacts="/artifacts", cache=None, export=None)
        task = task_for(target.resources, target.case, target.arm, paths)
        workspace.keep("series.py", Path(pyperf_program.__file__).read_bytes())
        workspace.keep(pyperf_program.REQUEST, msgspec.json.encode(task))
        self._command = [python_of(target), "-P", "/trial/series.py", "--copy-env", "--output", "/out/window.json"]
        self._command += ["--processes", str(processes)]
        self.notes = {"command": " ".join(self._command)}

    def window(self, pace: Pace) -> Reading:
        """Take a series; its length is pyperf's own choice, not the pace's."""
        del pace
        (self._workspace.out / "window.json").unlink(missing_ok=True)
        artifacts = {"/artifacts": (self._target.resources.artifacts.root, "ro")}
        folders = {**artifacts, **self._workspace.folders("trial", "out")}
        return reading_of(run_program(self._target, "pyperf", self._command, folders, TIMEOUT_S), "pyperf")


class OptimumBenchmark:
    """optimum-benchmark on a folder of transformers; every window is a run of its own."""

    process = "optimum-benchmark"
    pid: int | None = None
    starts_anew = True

    def __init__(self, target: Target, workspace: Workspace, *, quick: bool = False) -> None:
        self._target, self._workspace = target, workspace
        request = optimum_benchmark_program.Request(
            model=MODEL,
            batch=target.case.batch,
            sequence=models.get(target.case.model).inputs[0].shape[0],
            duration_s=1 if quick else None,
            iterations=3 if quick else None,
            warmups=2 if quick else None,
        )
        code = Path(optimum_benchmark_program.__file__).read_text(encoding="utf-8")
        self._command = [python_of(target), "-P", "-c", code, msgspec.json.encode(request).decode()]
        self.notes = {"request": msgspec.json.encode(request).decode()}

    def window(self, pace: Pace) -> Reading:
        """Run it once; how long is its own choice, not the pace's."""
        del pace
        folders = self._workspace.folders("model")
        output = run_program(self._target, self.process, self._command, folders, TIMEOUT_S)
        return reading_of(output, self.process)


class FolderProcess(InlineProcess):
    """A plain container of optimum-benchmark's image with a bare loop around the model of the same folder."""

    process = "bare"

    def __init__(self, target: Target, workspace: Workspace) -> None:
        name = f"bare loop around transformers' {target.case.model}"
        super().__init__(target, name, None, workspace.folders("model"))
        try:
            self.verify(target, form_worker.FormsRequest(self.task, (form_worker.TRANSFORMERS,), folder=MODEL))
        except BaseException:
            self.close()
            raise


def write_model(workspace: Workspace, model: str) -> None:
    """Write the model's folder where containers see it, if it is not there yet."""
    place = workspace.root / "model"
    if not (place / folder.CONFIG).exists():
        folder.write(model, place)
        for file in place.iterdir():
            file.chmod(0o644)
