"""Apache TVM: Relax from the ONNX file, compiled by LLVM for this processor, not tuned."""

from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.checks import import_framework, require_file, require_names, require_supported
from levelfield.backends.protocol import Arrays, Options, Source, Step, Unsupported
from levelfield.zoo import flops, models

_NAME = "tvm"
MOST_MACS = 5_000_000_000
"""Multiply-accumulates of one call of a model that is still compiled: untuned kernels compute about half a billion a
second, and a call of BERT takes a minute."""


class TVM:
    """A module of Relax, compiled with TVM's default pipeline; its virtual machine calls the kernels in order.

    Kernels have the loops that TVM's legalisation writes: no schedule was searched for. Tuned ones are many times
    faster. MetaSchedule, which searches for them, crashed on the models that were tried with the locked release.

    References
    ----------
    https://tvm.apache.org/docs/arch/relax_vm.html
    https://tvm.apache.org/docs/how_to/tutorials/import_model.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported(_NAME, options)
        self._tvm: Any = import_framework(_NAME, "tvm")
        # As TVM_NUM_THREADS does, which counts only for the first backend of a process; 1: a core for each thread.
        self._tvm.get_global_func("runtime.config_threadpool")(1, options.threads)
        self._onnx: Any = import_framework(_NAME, "onnx")
        self._target: Any = None
        self.version = str(self._tvm.__version__)

    def load(self, source: Source) -> Step:
        """Compile the ONNX file.

        Raises Unsupported: the file is missing or of another model, or the model is too large for kernels that are not
        tuned.
        """
        tvm = self._tvm
        _require_small(source)
        path = require_file(_NAME, source)
        proto = self._onnx.load(path)
        constants = {tensor.name for tensor in proto.graph.initializer}
        names = [each.name for each in proto.graph.input if each.name not in constants]
        require_names(_NAME, source.example, names)
        from tvm.relax.frontend.onnx import from_onnx

        module = from_onnx(proto, keep_params_in_input=False)
        del proto
        self._target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
        executable = tvm.compile(module, self._target)
        device = tvm.cpu()
        machine = tvm.relax.VirtualMachine(executable, device)
        call, tensor = machine["main"], tvm.runtime.tensor

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            output = call(*[tensor(inputs[name], device) for name in names])
            return output.numpy()  # type: ignore[no-any-return]

        return step

    def settings(self) -> dict[str, str]:
        """Return what can tilt the field."""
        return {
            "mode": "Relax virtual machine",
            "threads": str(self._tvm.get_global_func("runtime.NumThreads")()),
            "target": str(self._target or "not compiled yet"),
            "tuning": "none: kernels as TVM's legalisation writes them",
            "denormals": "kept (its default)",
            "output": "a new array every call",
        }


def _require_small(source: Source) -> None:
    """Refuse a model whose calls would take minutes; of a user's own file nobody knows how large it is."""
    if source.model not in models.names():
        return
    macs = flops.count(models.get(source.model), source.batch).macs
    if macs > MOST_MACS:
        raise Unsupported(
            f"{_NAME} is not tuned here, and its kernels then compute about half a billion multiply-accumulates a "
            f"second: one call of {source.model} with batch {source.batch} has {macs / 1e9:.0f} billion. Ask for a "
            "smaller model."
        )
