"""The transformers library, which computes by PyTorch, as it computes where nothing is compiled."""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends import registry
from levelfield.backends.checks import import_framework, require_supported
from levelfield.backends.protocol import Arrays, Backend, Options, Source, Step, Unsupported
from levelfield.zoo import models
from levelfield.zoo.native import definition


class Transformers:
    """A model of the library's own classes, filled with the weights and called in inference mode.

    PyTorch is set up as its own backend here sets it up (threads, fp32 as fp32); what the library makes of it is left
    as the library has it: which attention, and the order of images in memory.

    See https://huggingface.co/docs/transformers/attention_interface
    """

    name = "transformers"
    version: str

    def __init__(self, options: Options) -> None:
        require_supported(self.name, options)
        engine = registry.get(self.name).wraps
        self._engine: Backend = registry.create(engine, msgspec.structs.replace(options, settings={}))
        self._torch: Any = import_framework(self.name, "torch")
        self._library: Any = import_framework(self.name, "transformers")
        import_framework(self.name, "transformers.modeling_utils")  # of the import, which the library puts off
        self._module: Any = None
        self.version = str(self._library.__version__)

    def load(self, source: Source) -> Step:
        """Build the library's own network with the weights in it."""
        self._module = None  # frees the model that was loaded before
        model = models.get(source.model)
        try:
            written = definition(model, "transformers")
        except ValueError as error:
            raise Unsupported(str(error)) from error
        self._module = module = written.build(model, source.weights)
        names = tuple(tensor.name for tensor in model.inputs)
        from_numpy, inference_mode = self._torch.from_numpy, self._torch.inference_mode

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            with inference_mode():
                return module(*[from_numpy(inputs[name]) for name in names]).numpy()  # type: ignore[no-any-return]

        return step

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field: the library's own, and the engine's."""
        engine = self._engine.settings()
        for taken in ("mode", "output", "weights", "memory format"):
            engine.pop(taken, None)
        config = self._module.network.config if self._module is not None else None
        return engine | {
            "mode": "the library's own class, called in inference mode, nothing compiled",
            "engine": f"torch {self._engine.version}",  # what `analysis.insights.wrappers` reads
            "attention": str(getattr(config, "_attn_implementation", None) or "none"),
            "image layout": "channels first",
        }
