"""LiteRT's interpreter on the CPU, with XNNPACK."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.checks import (
    as_defined,
    images_last,
    import_framework,
    require_file,
    require_names,
    require_supported,
)
from levelfield.backends.precisions import precision_of
from levelfield.backends.protocol import Arrays, Options, Source, Step, Unsupported
from levelfield.record.measured import Computed
from levelfield.zoo import models

_NAME = "litert"
_PRODUCTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "BATCH_MATMUL")


class LiteRT:
    """One interpreter, used again and again; XNNPACK computes what it can (`xnnpack=off`: LiteRT's own kernels).

    References
    ----------
    https://ai.google.dev/edge/litert/inference
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported(_NAME, options)
        self._options = options
        self._module: Any = import_framework(_NAME, "ai_edge_litert.interpreter")
        self._interpreter: Any = None
        self.version = _version()

    def load(self, source: Source) -> Step:
        """Read the TFLite file, and let XNNPACK pack its weights.

        Raises Unsupported: the file is missing or of another model.
        """
        path = require_file(_NAME, source)
        self._interpreter = None  # frees the model that was loaded before
        resolver = self._module.OpResolverType
        chosen = resolver.AUTO if self._xnnpack else resolver.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        interpreter = self._module.Interpreter(
            model_path=str(path), num_threads=self._options.threads, experimental_op_resolver_type=chosen
        )
        signatures = interpreter.get_signature_list()
        if len(signatures) != 1:
            raise Unsupported(f"{_NAME} was given a file with {len(signatures)} signatures and needs one.")
        (key,) = signatures
        runner = interpreter.get_signature_runner(key)
        taken, given = runner.get_input_details(), runner.get_output_details()
        del runner  # it refers to the interpreter's memory, which then does not run
        require_names(_NAME, source.example, taken)
        interpreter.allocate_tensors()
        places = [(name, details["index"]) for name, details in taken.items()]
        model = models.get(source.model)
        output = given[model.output.name]["index"]
        set_tensor, invoke, get_tensor = interpreter.set_tensor, interpreter.invoke, interpreter.get_tensor
        shown = as_defined(model)

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            for name, place in places:
                set_tensor(place, images_last(inputs[name]))
            invoke()
            return shown(get_tensor(output))

        self._interpreter = interpreter
        return step

    def computed(self, inputs: Arrays) -> Computed:
        """Count the file's products by the type of their first input; who computes which, LiteRT does not say."""
        del inputs  # the file says it without a call
        source = "the operators of the TFLite file"
        if self._interpreter is None:
            return Computed({}, "nothing is loaded")
        # The only list of a file's operators that LiteRT has.
        found = Counter(
            precision_of(np.dtype(each["operand_types"][0]).name)
            for each in self._interpreter._get_ops_details()  # noqa: SLF001
            if each["op_name"] in _PRODUCTS
        )
        return Computed(dict(found), source, kernels_source="nothing: LiteRT does not say which kernels XNNPACK chose")

    @property
    def _xnnpack(self) -> bool:
        return self._options.settings.get("xnnpack", "on") == "on"

    def settings(self) -> dict[str, str]:
        """Return what can tilt the field; LiteRT reads back neither threads nor delegates."""
        return {
            "mode": "interpreter",
            "threads": str(self._options.threads),
            "XNNPACK": "on (its default)" if self._xnnpack else "off",
            "denormals": "kept (its default)",
            "image layout": "channels last",
            "output": "a new array every call",
        }


def _version() -> str:
    import importlib.metadata

    return importlib.metadata.version("ai-edge-litert")
