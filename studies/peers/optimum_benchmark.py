"""optimum-benchmark as a contestant, and a bare loop around the network of the same folder."""

from pathlib import Path

import msgspec

from studies import form_worker
from studies.form_worker import TRANSFORMERS
from studies.overhead.contestants import InlineProcess, Pace, Reading, Target, python_of, run_program
from studies.peers import folder
from studies.peers.answers import TIMEOUT_S, answer_of
from studies.peers.inside import optimum_benchmark
from studies.peers.workspace import Workspace
from suite.zoo import models

MODEL = "/model"
"""Where containers see the folder of the model."""


class OptimumBenchmark:
    """optimum-benchmark on a folder of transformers; every window is a run of its own."""

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
        """Run it once; how long is its own choice, not the pace's."""
        del pace
        name = "optimum-benchmark"
        found = answer_of(
            run_program(self._target, name, self._command, self._workspace.folders("model"), TIMEOUT_S), name
        )
        self.notes = {"request": msgspec.json.encode(self._request).decode()}
        return Reading(found.median_ns, found.calls, found.supervisor_share)


class FolderProcess(InlineProcess):
    """A plain container of optimum-benchmark's image with a bare loop around the model of the same folder."""

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
    """Write the model's folder where containers see it, if it is not there yet."""
    place = workspace.root / "model"
    if not (place / folder.CONFIG).exists():
        folder.write(model, place)
        for file in place.iterdir():
            file.chmod(0o644)
