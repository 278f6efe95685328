"""Writes a decoder as the file that `benchmark_app` is given: stateful, as Levelfield's backend compiles it.

The text of this file is given to `python -c` in OpenVINO's image, with a task as JSON, a folder, and how many sequences
are to be verified. `benchmark_app` cannot make a model stateful, so the backend's own function does that before the
file is saved. What the saved file computes is written beside it, so that it can be compared with the reference.
"""

import sys
from pathlib import Path

import msgspec
import numpy as np

from suite.backends.decoding import openvino as decoding
from suite.worker.decoding import call_of
from suite.worker.messages import Task
from suite.worker.sources import inputs_of
from suite.zoo import models
from suite.zoo.decoding import INPUT

MODEL_FILE = "model.xml"
LOGITS_FILE = "logits.npy"


def main(task: Task, folder: Path, sequences: int) -> None:
    """Write `model.xml` with its weights, and `logits.npy`: float32, shape (sequences, vocabulary)."""
    found, call = models.get(task.model).decoding, call_of(task)
    if found is None or call is None:
        raise ValueError(f"{task.model} has no step that reads a cache in {task.scenario}.")
    import openvino

    core = openvino.Core()
    model = core.read_model(task.file_path)
    decoding.make_stateful(model, found)
    openvino.save_model(model, folder / MODEL_FILE, compress_to_fp16=False)

    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": task.threads}
    compiled = core.compile_model(folder / MODEL_FILE, "CPU", config)
    decoder = decoding.decoder(openvino, compiled.create_infer_request())
    logits = []
    for first in range(0, sequences, task.batch):
        ids = np.asarray(inputs_of(task, first)[INPUT])
        cache = decoder.new_cache()
        decoder.extend(cache, np.ascontiguousarray(ids[:, : call.prompt]), 0)
        logits.append(np.array(decoder.extend(cache, np.ascontiguousarray(ids[:, call.prompt :]), call.prompt)))
    np.save(folder / LOGITS_FILE, np.concatenate(logits), allow_pickle=False)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Task), Path(sys.argv[2]), int(sys.argv[3]))
