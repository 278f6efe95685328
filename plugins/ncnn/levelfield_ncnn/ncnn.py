"""ncnn on the CPU: a network that was written for it, and one extractor a call."""

import importlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.checks import import_framework, require_supported
from levelfield.backends.protocol import Arrays, Options, Source, Step, Unsupported
from levelfield.zoo import models
from levelfield.zoo.spec import Model
from levelfield_ncnn import networks
from levelfield_ncnn.graph import Graph

_NAME = "ncnn"
_ROWS = ("mlp",)
"""Networks of dense layers alone, whose rows may be a batch."""
_LOWER = ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_packed", "use_bf16_storage")
"""Options that store or compute in less than float32; some are on by default."""


class NCNN:
    """A network in ncnn's format, which packs its weights for this processor when it is loaded.

    References
    ----------
    https://github.com/Tencent/ncnn/wiki/use-ncnn-with-alexnet
    https://github.com/Tencent/ncnn/blob/master/src/option.h
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported(_NAME, options)
        self._threads = options.threads
        self._ncnn: Any = import_framework(_NAME, "ncnn")
        self._net: Any = None
        self.version = str(self._ncnn.__version__)

    def load(self, source: Source) -> Step:
        """Write the network, read it, and let ncnn pack its weights.

        Raises Unsupported: the model has no definition in ncnn, or takes a batch there.
        """
        self._net = None  # frees the model that was loaded before
        model = models.get(source.model)
        if model.package not in networks.NAMES:
            raise Unsupported(
                f"{_NAME} has no definition of {source.model} here: choose among {', '.join(networks.NAMES)}."
            )
        if source.batch != 1 and model.package not in _ROWS:
            raise Unsupported(f"{_NAME} has no dimension for a batch: ask for {source.model} with --batch 1.")
        net = self._read(model, source)
        tensor, output = self._ncnn.Mat, model.output
        names = [each.name for each in model.inputs]
        shape = (source.batch, *output.shape)

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            extractor = net.create_extractor()
            for name in names:
                # A copy of ncnn's own: it would read an array where it is, without holding it, and write over it.
                extractor.input(name, tensor(_given(inputs[name], name)).clone())
            _, answer = extractor.extract("output")
            return np.array(answer).reshape(shape)

        self._net = net
        return step

    def _read(self, model: Model, source: Source) -> Any:  # noqa: ANN401 (ncnn has no types)
        """Return the network, ready to be called."""
        net = self._ncnn.Net()
        net.opt.num_threads = self._threads
        for each in _LOWER:
            setattr(net.opt, each, False)
        graph = Graph()
        definition = importlib.import_module(f"levelfield_ncnn.networks.{model.package}")
        output = definition.write(graph, model, source.weights)
        with tempfile.TemporaryDirectory() as folder:
            layers, weights = graph.write(Path(folder), output)
            if net.load_param(str(layers)) or net.load_model(str(weights)):
                raise RuntimeError(f"ncnn could not read the network that was written for {source.model}")
        return net

    def settings(self) -> dict[str, str]:
        """Return what can tilt the field, as ncnn's options have it."""
        option = self._net.opt if self._net is not None else self._ncnn.Net().opt
        return {
            "mode": "one extractor a call",
            "threads": str(option.num_threads),
            "lower precisions": "off: " + ", ".join(each.removeprefix("use_") for each in _LOWER),
            "Winograd": "on (its default)" if option.use_winograd_convolution else "off",
            "graph": "norms folded into convolutions",
            "denormals": "kept (its default)",
            "output": "a new array every call",
        }


def _given(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return an input as the network takes it: one item without its batch, or rows; a mask as float32."""
    if array.ndim == 2 and array.dtype == np.float32:
        return array
    item: npt.NDArray[Any] = array[0]
    return item.astype(np.float32) if name == "attention_mask" else item
