"""OpenVINO's own `benchmark_app`, run as a user would run it, in the image that Levelfield measures OpenVINO in.

It gets three options beyond `-hint latency -api sync -infer_precision f32`, so that both sides answer the same
question: the number of threads (in a file, since it refuses `-nthreads` beside `-hint`), the type of image inputs
(it would make the network take bytes and convert them), and the inputs themselves.

Of a decoder it gets a step with a cache: the stateful model that Levelfield's backend compiles, saved as a file
(`stateful`), and one token at its position. The number of tokens stays open in that file, as the backend leaves it, so
the shape of what is given is an option too, and `benchmark_app` binds its inputs anew in every iteration, outside the
time that it reports.
"""

import re
import shutil
import tempfile
from pathlib import Path

import msgspec
import numpy as np

from levelfield.errors import LevelfieldError
from levelfield.zoo import inputs, models
from levelfield.zoo.weights import Arrays
from studies.harness.contestants import Pace, Reading, Target, python_of, run_program

_UNITS_NS = {"us": 1e3, "ms": 1e6}
_SETTINGS = ("INFERENCE_NUM_THREADS", "INFERENCE_PRECISION_HINT", "PERFORMANCE_HINT", "NUM_STREAMS")
TIMEOUT_S = 300


class BenchmarkApp:
    """Every window is a run of its own, for a whole number of seconds."""

    process = "benchmark_app"
    pid: int | None = None
    starts_anew = True

    def __init__(self, target: Target) -> None:
        self._target = target
        self._folder = Path(tempfile.mkdtemp(prefix="levelfield-trial-"))
        self._folder.chmod(0o755)
        self.notes: dict[str, str] = {}
        try:
            self._inputs = inputs.make(models.get(target.case.model), 0, target.case.batch)
            _write(self._inputs, target.case.threads, self._folder)
        except BaseException:
            self.close()
            raise

    @property
    def _onnx(self) -> str:
        file = self._target.resources.file_of(self._target.case, self._target.arm)
        if file is None:
            raise ValueError(f"{self._target.arm.id} reads no file.")
        return file.path

    def window(self, pace: Pace) -> Reading:
        """Run it once."""
        command = self._command(max(1, round(pace.window_ns / 1e9)))
        # Without a home, which is among a worker's variables, its telemetry takes over the log, and its results are not
        # printed.
        folders = {"/artifacts": (self._target.resources.artifacts.root, "ro"), "/trial": (self._folder, "ro")}
        output = run_program(self._target, "benchmark_app", command, folders, TIMEOUT_S)
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
        kinds = {name: f"{array.dtype.kind}{8 * array.dtype.itemsize}" for name, array in self._inputs.items()}
        return [
            *(app, "-m", f"/artifacts/{self._onnx}", "-d", "CPU"),
            *("-hint", "latency", "-api", "sync", "-infer_precision", "f32"),
            *("-t", str(seconds), "-load_config", "/trial/config.json"),
            *("-iop", ",".join(f"{name}:{kind}" for name, kind in kinds.items())),
            *("-i", *(f"{name}:/trial/{name}.npy" for name in self._inputs)),
        ]

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


def _write(arrays: Arrays, threads: int, folder: Path) -> None:
    """Write the inputs and the configuration."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    (folder / "config.json").write_bytes(msgspec.json.encode({"CPU": {"INFERENCE_NUM_THREADS": str(threads)}}))
    for file in folder.iterdir():
        if file.is_file():
            file.chmod(0o644)
