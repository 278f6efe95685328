"""benchmark_app, pyperf and optimum-benchmark as contestants, and a bare loop around what the last one is given.

OpenVINO's own `benchmark_app` runs as a user would run it, in the image that Levelfield measures OpenVINO in. It gets
three options beyond `-hint latency -api sync -infer_precision f32`, so that both sides answer the same question: the
number of threads (in a file, since it refuses `-nthreads` beside `-hint`), the type of image inputs (it would make the
network take bytes and convert them), and the inputs themselves.
"""

import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.errors import LevelfieldError
from levelfield.images.build import build
from levelfield.launchers.docker import NOBODY
from levelfield.launchers.protocol import WorkerPaths
from levelfield.schedule.resources import task_for
from levelfield.zoo import bert, inputs, models, weights
from studies.harness import form_worker, programs
from studies.harness.contestants import InlineProcess, Pace, Reading, Target, python_of, run_program

PYPERF, OPTIMUM_BENCHMARK = "peer-pyperf", "peer-optimum-benchmark"
"""Images."""
TIMEOUT_S = 900.0
MODEL = "/model"
"""Where containers see the folder of the model."""
CONFIG, TENSORS = "config.json", "model.safetensors"
_UNITS_NS = {"us": 1e3, "ms": 1e6}
_SETTINGS = ("INFERENCE_NUM_THREADS", "INFERENCE_PRECISION_HINT", "PERFORMANCE_HINT", "NUM_STREAMS")


def in_image(target: Target, image: str) -> Target:
    """Return the same target in another image."""
    return target._replace(other_image=build(image).tag)


class Workspace(NamedTuple):
    """Folders that containers see: `/trial` and `/model` read-only, `/out` for results."""

    root: Path

    def keep(self, name: str, content: bytes) -> None:
        """Write a file that containers see, such as `trial/config.json`."""
        path = self.root / name
        path.write_bytes(content)
        path.chmod(0o644)

    def folders(self, *names: str) -> dict[str, tuple[Path, str]]:
        """Return some of the folders as `plain_container` takes them."""
        return {f"/{name}": (self.root / name, "rw" if name == "out" else "ro") for name in names}


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Make the folders, and remove them in the end."""
    with tempfile.TemporaryDirectory(prefix="levelfield-trial-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        root.chmod(0o755)
        for folder in ("trial", "out", "model"):
            (root / folder).mkdir()
        if os.getuid() == 0:
            os.chown(root / "out", NOBODY, NOBODY)
        yield Workspace(root)


class _Program:
    """A program that is started anew for every window."""

    process: str
    pid: int | None = None
    starts_anew = True

    def __init__(self, target: Target, place: Workspace) -> None:
        self._target, self._place = target, place
        self.notes: dict[str, str] = {}

    def _run(self, command: list[str], *folders: str) -> str:
        artifacts = {"/artifacts": (self._target.resources.artifacts.root, "ro")}
        return run_program(self._target, self.process, command, artifacts | self._place.folders(*folders), TIMEOUT_S)


class BenchmarkApp(_Program):
    """Every window is a run of its own, for a whole number of seconds.

    Of a decoder it gets a step with a cache: the stateful model that Levelfield's backend compiles, saved as a file
    (`stateful`), and one token at its position. The number of tokens stays open in that file, as the backend leaves it,
    so the shape of what is given is an option too, and `benchmark_app` binds its inputs anew in every iteration,
    outside the time that it reports.
    """

    process = "benchmark_app"

    def __init__(self, target: Target, place: Workspace) -> None:
        super().__init__(target, place)
        self._inputs = inputs.make(models.get(target.case.model), 0, target.case.batch)
        for name, array in self._inputs.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            place.keep(f"trial/{name}.npy", content.getvalue())
        threads = {"INFERENCE_NUM_THREADS": str(target.case.threads)}
        place.keep("trial/config.json", msgspec.json.encode({"CPU": threads}))

    def window(self, pace: Pace) -> Reading:
        """Run it once."""
        command = self._command(max(1, round(pace.window_ns / 1e9)))
        # Without a home, which is among a worker's variables, its telemetry takes over the log, and its results are not
        # printed.
        output = self._run(command, "trial")
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
        file = self._target.resources.file_of(self._target.case, self._target.arm)
        if file is None:
            raise ValueError(f"{self._target.arm.id} reads no file.")
        kinds = {name: f"{array.dtype.kind}{8 * array.dtype.itemsize}" for name, array in self._inputs.items()}
        return [
            *(str(Path(python_of(self._target)).with_name("benchmark_app")), "-m", f"/artifacts/{file.path}"),
            *("-d", "CPU", "-hint", "latency", "-api", "sync", "-infer_precision", "f32"),
            *("-t", str(seconds), "-load_config", "/trial/config.json"),
            *("-iop", ",".join(f"{name}:{kind}" for name, kind in kinds.items())),
            *("-i", *(f"{name}:/trial/{name}.npy" for name in self._inputs)),
        ]


def parse(output: str) -> Reading:
    r"""Read the median latency and the number of calls; below a millisecond it speaks of `us`, else of `ms`.

    Examples
    --------
    >>> parse("[ INFO ] Count:   5611 iterations\n[ INFO ]    Median:        16.66 us\n")
    Reading(median_ns=16660.0, calls=5611, supervisor_share=None)
    """
    median = re.search(r"Median:\s+([\d.]+) (us|ms)", output)
    count = re.search(r"Count:\s+(\d+) iterations", output)
    if median is None or count is None or float(median[1]) <= 0:
        raise LevelfieldError("benchmark_app did not name its median latency.", fix=f"It said: {output[-800:]}")
    return Reading(median_ns=round(float(median[1]) * _UNITS_NS[median[2]], 3), calls=int(count[1]))


def reading_of(output: str, name: str) -> Reading:
    """Read a tool's last answer out of what it printed; raises LevelfieldError where there is none, or no time."""
    lines = [line for line in output.splitlines() if line.startswith(programs.ANSWER)]
    try:
        found = msgspec.json.decode(lines[-1].removeprefix(programs.ANSWER), type=programs.Answer)
    except (IndexError, msgspec.MsgspecError) as error:
        raise LevelfieldError(f"{name} gave no answer.", fix=f"Its last words: {output[-800:]}") from error
    if not found.median_ns > 0 or found.calls < 1:
        raise LevelfieldError(f"{name} answered that a call takes {found.median_ns} ns, of {found.calls} calls.")
    return Reading(found.median_ns, found.calls, found.supervisor_share)


class Pyperf(_Program):
    """A series of pyperf around the step that Levelfield times; a window is a series of so many processes."""

    process = "pyperf"

    def __init__(self, target: Target, place: Workspace, processes: int) -> None:
        super().__init__(target, place)
        paths = WorkerPaths(artifacts="/artifacts", cache=None, export=None)
        place.keep("trial/series.py", Path(programs.__file__).read_bytes())
        task = task_for(target.resources, target.case, target.arm, paths)
        place.keep(f"trial/{programs.TASK}", msgspec.json.encode(task))
        self._command = [python_of(target), "-P", "/trial/series.py", "--copy-env", "--output", "/out/window.json"]
        self._command += ["--processes", str(processes)]
        self.notes = {"command": " ".join(self._command)}

    def window(self, pace: Pace) -> Reading:
        """Take a series; its length is pyperf's own choice, not the pace's."""
        del pace
        (self._place.root / "out" / "window.json").unlink(missing_ok=True)
        return reading_of(self._run(self._command, "trial", "out"), self.process)


class OptimumBenchmark(_Program):
    """optimum-benchmark on a folder of transformers; every window is a run of its own."""

    process = "optimum-benchmark"

    def __init__(self, target: Target, place: Workspace, *, quick: bool = False) -> None:
        super().__init__(target, place)
        short = {"duration_s": 1, "iterations": 3, "warmups": 2} if quick else {}
        sequence = models.get(target.case.model).inputs[0].shape[0]
        request = programs.Request(model=MODEL, batch=target.case.batch, sequence=sequence, **short)
        code = Path(programs.__file__).read_text(encoding="utf-8")
        self._command = [python_of(target), "-P", "-c", code, msgspec.json.encode(request).decode()]
        self.notes = {"request": self._command[-1]}

    def window(self, pace: Pace) -> Reading:
        """Run it once; how long is its own choice, not the pace's."""
        del pace
        return reading_of(self._run(self._command, "model"), self.process)


class FolderProcess(InlineProcess):
    """A plain container of optimum-benchmark's image with a bare loop around the model of the same folder."""

    process = "bare"

    def __init__(self, target: Target, place: Workspace) -> None:
        name = f"bare loop around transformers' {target.case.model}"
        super().__init__(target, name, None, place.folders("model"))
        self.verify(target, form_worker.FormRequest(self.task, folder=MODEL))


def write_model(place: Workspace, model: str) -> None:
    """Write the folder that the transformers library loads where containers see it, if it is not there yet."""
    if model != "bert":
        raise LevelfieldError(f"{model} cannot be written as a folder of transformers.", fix="Ask for bert.")
    if not (place.root / "model" / CONFIG).exists():
        place.keep(f"model/{CONFIG}", msgspec.json.format(msgspec.json.encode(config()), indent=2) + b"\n")
        place.keep(f"model/{TENSORS}", safetensors(weights.make(models.get(model))))


def config() -> dict[str, object]:
    """Return the configuration of BERT-base, as transformers' `BertConfig` names its fields."""
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "dtype": "float32",
        "vocab_size": bert.VOCABULARY,
        "hidden_size": bert.HIDDEN,
        "num_hidden_layers": bert.LAYERS,
        "num_attention_heads": bert.HEADS,
        "intermediate_size": bert.INNER,
        "hidden_act": "gelu",
        "max_position_embeddings": bert.POSITIONS,
        "type_vocab_size": bert.TYPES,
        "layer_norm_eps": bert.EPSILON,
        "pad_token_id": bert.PAD,
    }


def safetensors(arrays: Mapping[str, npt.NDArray[np.generic]]) -> bytes:
    """Return arrays as a safetensors file (https://huggingface.co/docs/safetensors/index#format).

    That is eight bytes with the length of the header (little endian), the header (JSON: type, shape and place of each
    tensor; spaces fill it to eight bytes), and the tensors one after the other.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": (begin, end)}
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    tensors = (np.ascontiguousarray(array, dtype="<f4").tobytes() for array in arrays.values())
    return b"".join((len(text).to_bytes(8, "little"), text, *tensors))
