"""OpenVINO's own `benchmark_app`, run as a user would run it, in the image that Levelfield measures OpenVINO in.

It gets three options beyond `-hint latency -api sync -infer_precision f32`, so that both sides answer the same
question: the number of threads (in a file, since it refuses `-nthreads` beside `-hint`), the type of image inputs
(it would make the network take bytes and convert them), and the inputs themselves.
"""

import re
import shutil
import tempfile
from pathlib import Path

import msgspec
import numpy as np

from suite.errors import LevelfieldError
from suite.record.schema import Case
from suite.trials.overhead.contestants import Pace, Reading, Target, plain_container, python_of
from suite.zoo import inputs, models

_UNITS_NS = {"us": 1e3, "ms": 1e6}
_SETTINGS = ("INFERENCE_NUM_THREADS", "INFERENCE_PRECISION_HINT", "PERFORMANCE_HINT", "NUM_STREAMS")
TIMEOUT_S = 300


class BenchmarkApp:
    """Every window is a run of its own, for a whole number of seconds."""

    process = "benchmark_app"
    pid: int | None = None

    def __init__(self, target: Target) -> None:
        case = target.case
        self._target = target
        self._onnx = target.resources.onnx[case.model, case.precision, case.batch].path
        self._folder = Path(tempfile.mkdtemp(prefix="levelfield-trial-"))
        self._folder.chmod(0o755)
        self._inputs = _write_inputs(case, self._folder)
        self.notes: dict[str, str] = {}

    def window(self, pace: Pace) -> Reading:
        """Run it once.

        Raises
        ------
        LevelfieldError
            It failed, computed something else than Levelfield does, or said something that is not understood.
        """
        command = self._command(max(1, round(pace.window_ns / 1e9)))
        output = self._run(command)
        found = {name: re.search(rf"\s{name}: (.+)", output) for name in _SETTINGS}
        settings = {name: match[1].strip() for name, match in found.items() if match}
        threads = self._target.case.threads
        if settings.get("INFERENCE_NUM_THREADS") != str(threads):
            raise LevelfieldError(f"benchmark_app did not use {threads} threads: {settings}.")
        if "float32" not in settings.get("INFERENCE_PRECISION_HINT", ""):
            raise LevelfieldError(f"benchmark_app did not compute in float32: {settings}.")
        self.notes = {"command": " ".join(command), **settings}
        return parse(output)

    def _command(self, seconds: int) -> list[str]:
        app = str(Path(python_of(self._target)).with_name("benchmark_app"))
        return [
            *(app, "-m", f"/artifacts/{self._onnx}", "-d", "CPU"),
            *("-hint", "latency", "-api", "sync", "-infer_precision", "f32"),
            *("-t", str(seconds), "-load_config", "/trial/config.json"),
            *("-iop", ",".join(f"{name}:{kind}" for name, kind in self._inputs.items())),
            *("-i", *(f"{name}:/trial/{name}.npy" for name in self._inputs)),
        ]

    def _run(self, command: list[str]) -> str:
        # Without a home, which is among a worker's variables, its telemetry takes over the log, and its results are not
        # printed.
        folders = {"/artifacts": (self._target.resources.artifacts.root, "ro"), "/trial": (self._folder, "ro")}
        container = plain_container(self._target, command, folders, attached=False)
        try:
            container.start()
            code = container.wait(timeout=TIMEOUT_S)["StatusCode"]
            output = container.logs(stdout=True, stderr=True).decode("utf-8", "replace")
        finally:
            container.remove(force=True)
        if code:
            raise LevelfieldError(f"benchmark_app ended with code {code}.", fix=f"Its last words: {output[-800:]}")
        return str(output)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def parse(output: str) -> Reading:
    r"""Read the median latency and the number of calls; below a millisecond it speaks of `us`, else of `ms`.

    Examples
    --------
    >>> parse("[ INFO ] Count:   5611 iterations\n[ INFO ]    Median:        16.66 us\n")
    Reading(median_ns=16660.0, calls=5611)
    """
    median = re.search(r"Median:\s+([\d.]+) (us|ms)", output)
    count = re.search(r"Count:\s+(\d+) iterations", output)
    if median is None or count is None or float(median[1]) <= 0:
        raise LevelfieldError("benchmark_app did not name its median latency.", fix=f"It said: {output[-800:]}")
    return Reading(median_ns=round(float(median[1]) * _UNITS_NS[median[2]], 3), calls=int(count[1]))


def _write_inputs(case: Case, folder: Path) -> dict[str, str]:
    """Write the case's own inputs and the configuration; return each input's type as OpenVINO calls it."""
    kinds: dict[str, str] = {}
    for name, array in inputs.make(models.get(case.model), 0, case.batch).items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
        kinds[name] = f"{array.dtype.kind}{8 * array.dtype.itemsize}"
    config = {"CPU": {"INFERENCE_NUM_THREADS": str(case.threads)}}
    (folder / "config.json").write_bytes(msgspec.json.encode(config))
    for file in folder.iterdir():
        file.chmod(0o644)
    return kinds
