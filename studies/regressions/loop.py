"""The bare loop: load a model, warm up, time calls one by one, print the median as JSON.

It imports nothing of Levelfield (only the standard library, NumPy and one framework), and runs in the environment of
one version. Its options come on the command line as JSON: the framework, the folder of the workload (`model.onnx` and
the inputs as `.npy` files), CPUs and threads, and for how long to warm up and to time. Settings are those of the
backends of the same names.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[dict[str, Any]], object]
COPIED_BYTES = 1 << 16
"""As in the backend `openvino`: smaller inputs are copied into the request's tensors, larger ones are shared."""


def onnxruntime(model: Path, threads: int, example: dict[str, Any]) -> tuple[str, Call]:
    """Return ONNX Runtime's version, and a call of the model."""
    import onnxruntime as ort

    del example  # the file says all shapes
    ort.disable_telemetry_events()
    ort.set_default_logger_severity(3)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    outputs = [each.name for each in session.get_outputs()]
    return str(ort.__version__), lambda inputs: session.run(outputs, inputs)


def openvino(model: Path, threads: int, example: dict[str, Any]) -> tuple[str, Call]:
    """Return OpenVINO's version, and a call of the model."""
    import openvino as ov

    hints = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    core = ov.Core()
    request = core.compile_model(core.read_model(str(model)), "CPU", hints).create_infer_request()
    shared = sum(each.nbytes for each in example.values()) > COPIED_BYTES

    def call(inputs: dict[str, Any]) -> object:
        return np.array(request.infer(inputs, share_inputs=shared, share_outputs=True)[0])

    return str(ov.__version__).partition("-")[0], call


FRAMEWORKS: dict[str, Callable[[Path, int, dict[str, Any]], tuple[str, Call]]] = {
    "onnxruntime": onnxruntime,
    "openvino": openvino,
}


def main() -> None:
    """Do what the command line asks for."""
    options = json.loads(sys.argv[1])
    os.sched_setaffinity(0, options["cpus"])
    folder = Path(options["folder"])
    inputs = {path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))}
    version, call = FRAMEWORKS[options["framework"]](folder / "model.onnx", options["threads"], inputs)
    clock = time.perf_counter_ns
    end = clock() + int(options["warm_s"] * 1e9)
    call(inputs)
    while clock() < end:
        call(inputs)
    samples: list[int] = []
    end = clock() + int(options["timed_s"] * 1e9)
    while len(samples) < options["min_calls"] or clock() < end:
        began = clock()
        call(inputs)
        samples.append(clock() - began)
    sys.stdout.write(json.dumps({"version": version, "median_ns": statistics.median(samples), "calls": len(samples)}))


if __name__ == "__main__":
    main()
