"""Runs one backend on one model in a process of its own: frameworks do not like each other's company.

Usage: child.py BACKEND MODEL BATCH WEIGHTS ONNX OUTPUT [CACHE [SETTING=VALUE …]]
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

from suite.backends import registry
from suite.backends.protocol import Options, Source
from suite.zoo import inputs, models, weights

THREADS = min(2, len(os.sched_getaffinity(0)))


def main() -> None:
    backend_name, model_name, batch, weights_path, onnx_path, output_path, *rest = sys.argv[1:]
    cache, settings = rest[:1], dict(each.split("=") for each in rest[1:])
    info, model, count = registry.get(backend_name), models.get(model_name), int(batch)
    first = inputs.make(model, 0, count, layout=info.layout)
    second = inputs.make(model, count, count, layout=info.layout)
    options = Options(threads=THREADS, cache=Path(cache[0]) if cache else None, settings=settings)
    backend = registry.create(backend_name, options)
    onnx = info.reads == "onnx"
    step = backend.load(
        Source(
            model=model_name,
            batch=count,
            weights={} if onnx else weights.load(Path(weights_path), model),
            example=first,
            file=Path(onnx_path) if onnx else None,
        )
    )
    raw = step(first)
    dtype = str(raw.dtype)
    outputs = [np.array(raw), np.array(step(second)), np.array(step(first))]
    # Images in the other memory order are slower, never wrong.
    other = "NCHW" if info.layout == "NHWC" else "NHWC"
    outputs.append(np.array(step(inputs.make(model, 0, count, layout=other))))
    np.save(output_path, np.stack(outputs))
    print(json.dumps({"version": backend.version, "settings": backend.settings(), "dtype": dtype}))


if __name__ == "__main__":
    main()
