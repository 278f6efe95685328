"""Apache MXNet: a symbol, fused for oneDNN, and the executor that computes it on the CPU."""

import ctypes
import importlib
import json
import os
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.checks import import_framework, require_supported
from levelfield.backends.precisions import precision_of
from levelfield.backends.protocol import Arrays, Options, Source, Step, Unsupported
from levelfield.record.measured import Computed
from levelfield.zoo import models
from levelfield_mxnet import networks

_NAME = "mxnet"
_FUSED = "MKLDNN"
"""What MXNet 1.9 calls the fusion of subgraphs for oneDNN."""
_PRODUCTS = ("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected", "Convolution", "FullyConnected", "batch_dot")


class MXNet:
    """A network of symbols with fixed shapes; its executor plans memory once, and calls operators in bulk.

    References
    ----------
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/tutorials/performance/backend/mkldnn/mkldnn_readme.html
    https://mxnet.apache.org/versions/1.9.1/api/faq/env_var
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported(_NAME, options)
        # MXNet's engine asks OpenMP when it starts its threads, and OpenMP reads this when it is loaded.
        os.environ["OMP_NUM_THREADS"] = str(options.threads)
        self._mxnet: Any = import_framework(_NAME, "mxnet")
        self._fused: Any = None
        self._executor: Any = None
        self.version = str(self._mxnet.__version__)

    def load(self, source: Source) -> Step:
        """Write the network, fuse it, and bind it to its weights.

        Raises Unsupported: the model has no definition in MXNet.
        """
        self._executor = self._fused = None  # frees the model that was loaded before
        mx, model = self._mxnet, models.get(source.model)
        if model.package not in networks.NAMES:
            raise Unsupported(
                f"{_NAME} has no definition of {source.model} here: choose among {', '.join(networks.NAMES)}."
            )
        definition = importlib.import_module(f"levelfield_mxnet.networks.{model.package}")
        weights = {name: mx.sym.var(name, shape=array.shape) for name, array in source.weights.items()}
        output = definition.forward(model, weights, *(mx.sym.var(tensor.name) for tensor in model.inputs))
        example = {tensor.name: source.example[tensor.name] for tensor in model.inputs}
        values = {
            name: mx.ndarray.array(array, dtype=array.dtype) for name, array in (source.weights | example).items()
        }
        self._fused = fused = output.optimize_for(
            _FUSED,
            {name: values[name] for name in output.list_arguments()},
            {name: values[name] for name in output.list_auxiliary_states()},
        )
        self._executor = executor = fused.bind(
            mx.cpu(),
            args={name: values[name] for name in fused.list_arguments()},
            aux_states={name: values[name] for name in fused.list_auxiliary_states()},
            grad_req="null",
        )
        places = [(name, executor.arg_dict[name]) for name in example]
        forward = executor.forward

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            for name, place in places:
                place[:] = inputs[name]
            (answer,) = forward(is_train=False)
            return answer.asnumpy()  # type: ignore[no-any-return]

        return step

    def computed(self, inputs: Arrays) -> Computed:
        """Count the products of the fused graph by the type of their first input."""
        if self._fused is None:
            return Computed({}, "nothing is loaded")
        known = {name: array.dtype for name, array in self._executor.arg_dict.items()}
        everything = self._fused.get_internals()
        _, types, _ = everything.infer_type(**known)
        of = dict(zip(everything.list_outputs(), types, strict=True))
        nodes = json.loads(self._fused.tojson())["nodes"]
        found: Counter[str] = Counter()
        for node in nodes:
            if node["op"] in _PRODUCTS:
                first = nodes[node["inputs"][0][0]]["name"]
                found[precision_of(np.dtype(of[f"{first}_output"] if f"{first}_output" in of else of[first]).name)] += 1
        del inputs  # the graph says it without a call
        why = "nothing: the oneDNN inside MXNet prints its kernels only with DNNL_VERBOSE set before it is loaded"
        return Computed(dict(found), "the operators of the fused graph", kernels_source=why)

    def settings(self) -> dict[str, str]:
        """Return what can tilt the field, read back where MXNet or OpenMP can say."""
        features = self._mxnet.runtime.Features()
        return {
            "mode": "symbolic executor",
            "threads": str(ctypes.CDLL("libgomp.so.1").omp_get_max_threads()),
            "OpenMP": "libgomp (GNU)",
            "oneDNN": "on" if features.is_enabled("MKLDNN") else "off",
            "graph": "fused for oneDNN",
            "engine": os.environ.get("MXNET_ENGINE_TYPE", "ThreadedEnginePerDevice (its default)"),
            "engine threads": os.environ.get("MXNET_CPU_WORKER_NTHREADS", "1 (its default)"),
            "denormals": "kept (its default)",
            "output": "a new array every call",
        }
