"""PyTorch, compiled by torch.compile and its inductor."""

import os
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from suite.backends import cuda, torch_common
from suite.backends.checks import import_framework, require_supported
from suite.backends.protocol import (
    Arrays,
    Options,
    Resident,
    Source,
    Step,
    Trainer,
    TrainingSource,
    Unsupported,
)
from suite.zoo import models
from suite.zoo.honesty import Computed


class TorchCompile:
    """torch.compile with static shapes and frozen weights (`frozen=off`: weights that may change).

    Freezing lets inductor fold BatchNorm, and lay weights out and pack them beforehand. A frozen graph is traced,
    frozen and lowered anew at every launch, since inductor keeps none in its cache; the C++ kernels that come of it are
    compiled once a run (docs/method.md, "What is prepared once"). On CUDA, where inductor writes Triton kernels, it is
    unverified (see `suite.backends.cuda`).

    References
    ----------
    https://docs.pytorch.org/tutorials/intermediate/inductor_debug_cpu.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("torch-compile", options)
        _require_compiler()
        self._options = options
        self._cache = options.cache
        self._device = options.device
        self._loaded: Any = None
        self._call: Any = None
        self._names: tuple[str, ...] = ()
        # Without a folder to keep, compile into one that goes with this object.
        self._temporary = None if options.cache else tempfile.TemporaryDirectory(prefix="levelfield-inductor-")
        folder = str(options.cache) if options.cache else self._temporary.name if self._temporary else ""
        # Inductor reads this when it is imported; its precompiled C++ header, 5 s of g++, follows the temporary folder.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        if options.device == cuda.DEVICE:
            os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
        tempfile.tempdir = folder
        if options.cache is not None and any(options.cache.iterdir()):
            # The kernels kept there were compiled for this machine's vector instructions: they are not probed again.
            os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "1"
        self._torch: Any = import_framework("torch-compile", "torch")
        torch_common.configure(self._torch, options, "torch-compile")
        self.version = str(self._torch.__version__)

    def load(self, source: Source) -> Step:
        """Fill the model's own module with the weights, and compile it by one throwaway call."""
        step = torch_common.make_step(self._torch, *self._compiled(source), self._device)
        step(source.example)
        return step

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for tensors that stay on the device."""
        resident = torch_common.make_resident(self._torch, *self._compiled(source), self._device)
        resident.run(resident.place(source.example))
        return resident

    def load_training(self, source: TrainingSource) -> Trainer:
        """Build the network with its loss, and compile both as one; what is trained cannot be frozen."""
        from torch._inductor import config

        from suite.backends.torch_training import TorchTrainer

        config.freezing = False
        return TorchTrainer(source, self._device, compiled=True)

    def _compiled(self, source: Source) -> tuple[Any, tuple[str, ...]]:
        from torch._inductor import config

        from suite.zoo import torch_module

        self._loaded = self._call = None  # the model before this one goes first
        model = models.get(source.model)
        config.freezing = self._options.settings.get("frozen", "on") == "on"
        module = torch_module.load(model, source.weights)
        module = torch_common.in_precision(self._torch, module, self._options)
        self._loaded = torch_common.channels_last(self._torch, module, self._device)
        self._names = tuple(tensor.name for tensor in model.inputs)
        self._call = self._torch.compile(self._loaded, dynamic=False)
        return self._call, self._names

    def computed(self, inputs: Arrays) -> Computed:
        """Run the module once as it was before it was compiled.

        Not in fp32 on a CPU, where the module's first call would take longer than all that is verified: inductor lowers
        no precision by itself, and the size of the error says enough.
        """
        arrays = [inputs[name] for name in self._names]
        found = Computed({}, "nothing: the module that was compiled is not run uncompiled as well")
        if self._options.precision != "fp32" or self._device != "cpu":
            source = "the operators that the module dispatches before it is compiled"
            found = torch_common.computed(self._torch, self._loaded, arrays, self._options, source)
        return torch_common.with_kernels(self._torch, found, self._call, arrays, self._device)

    def device_memory(self) -> dict[str, int]:
        return torch_common.device_memory(self._torch, self._device)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        from torch._inductor import config

        return {
            "mode": "torch.compile, inductor, static shapes",
            "freezing": "on" if config.freezing else "off",
            "compile cache": "kept" if self._cache else "empty at start",
            **torch_common.settings(self._torch, self._device),
            **torch_common.casting(self._options),
        }


def _require_compiler() -> None:
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise Unsupported(f"torch-compile needs the C++ compiler {compiler}, which is not here: install g++.")
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.is_file():
        raise Unsupported(f"torch-compile needs {header}, which is not here: install python3-dev.")
