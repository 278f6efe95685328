"""PyTorch, compiled by torch.compile and its inductor."""

import os
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from levelfield.backends import cuda
from levelfield.backends.checks import require_supported
from levelfield.backends.protocol import Arrays, Options, Resident, Source, Step, Trainer, TrainingSource, Unsupported
from levelfield.backends.torch import Torch
from levelfield.record.measured import Computed


class TorchCompile(Torch):
    """torch.compile with static shapes and frozen weights (`frozen=off`: weights that may change).

    On CUDA `graphs=on` replays the kernels of a call as one CUDA graph, as the mode `reduce-overhead` does.

    Freezing lets inductor fold BatchNorm, and lay weights out and pack them beforehand. A frozen graph is traced,
    frozen and lowered anew at every launch, since inductor keeps none in its cache; the C++ kernels that come of it are
    compiled once a run (docs/method.md, "What is prepared once"). On CUDA inductor writes Triton kernels; its inference
    was run on an NVIDIA H200 (docs/gpu.md), and training there was not.

    See https://docs.pytorch.org/tutorials/intermediate/inductor_debug_cpu.html
    https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    """

    name = "torch-compile"
    products_source = "the operators that the module dispatches before it is compiled"

    def __init__(self, options: Options) -> None:
        require_supported(self.name, options)
        _require_compiler()
        # Without a folder to keep, compile into one that goes with this object.
        tempfile.tempdir = None  # not in the folder of an earlier backend, which goes with that
        self._temporary = None if options.cache else tempfile.TemporaryDirectory(prefix="levelfield-inductor-")
        folder = self._temporary.name if self._temporary else str(options.cache)
        # Inductor reads this when it is imported; its precompiled C++ header, 5 s of g++, follows the temporary folder.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        if options.device == cuda.DEVICE:
            os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
        tempfile.tempdir = folder
        if options.cache is not None and any(options.cache.iterdir()):
            # The kernels kept there were compiled for this machine's vector instructions: they are not probed again.
            os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "1"
        super().__init__(options)

    def load(self, source: Source) -> Step:
        """Do as eager PyTorch does, and compile by one throwaway call."""
        step = super().load(source)
        step(source.example)
        return step

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for tensors that stay on the device."""
        resident = super().load_resident(source)
        resident.run(resident.place(source.example))
        return resident

    def load_training(self, source: TrainingSource) -> Trainer:
        """Build the network with its loss, and compile both as one; what is trained cannot be frozen."""
        from torch._inductor import config

        from levelfield.backends.torch_training import TorchTrainer

        config.freezing = False
        return TorchTrainer(source, self._device, compiled=True)

    def _compiled(self, function: Any, *, dynamic: bool = False) -> Any:  # noqa: ANN401 (a function of tensors)
        from torch._inductor import config

        config.freezing = self._options.settings.get("frozen", "on") == "on"
        config.triton.cudagraphs = self._device == cuda.DEVICE and self._options.settings.get("graphs") == "on"
        return self._torch.compile(function, dynamic=dynamic)

    def _prepared(self, source: Source) -> Any:  # noqa: ANN401 (a module of torch's)
        del source  # it is compiled by the first call
        return self._compiled(self._module)

    def computed(self, inputs: Arrays) -> Computed:
        """Run the module once as it was before it was compiled; not in fp32 on a CPU, where that takes too long."""
        if self._options.precision != "fp32" or self._device != "cpu":
            return super().computed(inputs)
        found = Computed({}, "nothing: the module that was compiled is not run uncompiled as well")
        return self._with_kernels(found, inputs)

    def _mode(self) -> dict[str, str]:
        from torch._inductor import config

        found = {
            "mode": "torch.compile, inductor, static shapes",
            "freezing": "on" if config.freezing else "off",
            "compile cache": "kept" if self._options.cache else "empty at start",
        }
        return found if self._device == "cpu" else found | {"CUDA graphs": "on" if config.triton.cudagraphs else "off"}


def _require_compiler() -> None:
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise Unsupported(f"torch-compile needs the C++ compiler {compiler}, which is not installed: install g++.")
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.is_file():
        raise Unsupported(f"torch-compile needs {header}, which is not installed: install python3-dev.")
