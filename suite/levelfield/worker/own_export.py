"""A user's own network of PyTorch for every framework: an ONNX file, its inputs, and its answer in float64.

Runs in the exporter's image. The weights are those that the file's function makes, so that every framework computes
with the same ones; the reference is the same network in float64, on the same inputs.
"""

import copy
import re
import traceback
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends.checks import outputs
from levelfield.backends.protocol import Arrays, Unsupported
from levelfield.worker import messages
from levelfield.worker.failures import beginning
from levelfield.worker.session import concatenated
from levelfield.worker.sources import files_in, written
from levelfield.zoo import onnx_export
from levelfield.zoo.honesty import FP32
from levelfield.zoo.sensitivity import largest, moved
from levelfield.zoo.spec import Own, OwnInput, Sensitivity

_Any: TypeAlias = Any  # torch, which only this image has
REASON_CHARS = 300
INPUTS_CHARS = 120
"""Of their names and shapes; the reason follows them in one message of `failures.MESSAGE_CHARS`."""
_WIDE = ("float64", "complex128")


def export(own: Own, folder: Path) -> messages.Exported:
    """Write `model.onnx` and the values of its inputs into a folder, and answer in float64.

    Raises Unsupported: the function returns no network and inputs, or the network does not run on them. Why there is
    no file, or no answer in float64, is said in the reply.
    """
    import torch

    file = own.python or ""
    network, given = written(file, own.function)
    module: Any = network if isinstance(network, torch.nn.Module) else _module(torch, network)
    module.eval()
    _check_runs(torch, module, given, file)
    answers, moves, unanswered = _in_float64(torch, module, given, file)
    reply = messages.Exported(
        files={}, opset=0, versions={}, answers=answers, unanswered=unanswered, sensitivities=moves
    )
    try:
        example = {name: torch.from_numpy(array) for name, array in given.items()}
        made = onnx_export.export_module(module, example, folder)
        reply = msgspec.structs.replace(reply, opset=made.opset, versions=made.versions)
    except Exception as error:  # noqa: BLE001  (whatever an exporter raises is its reason)
        for part in folder.iterdir():
            part.unlink()
        reply = msgspec.structs.replace(reply, unexported=_reason(error, file))
    return msgspec.structs.replace(reply, inputs=_kept(given, folder), files=files_in(folder))


def _module(torch: _Any, function: _Any) -> _Any:
    class Function(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *tensors: _Any) -> _Any:
            return function(*tensors)

    return Function()


def _check_runs(torch: _Any, module: _Any, given: Arrays, file: str) -> None:
    """Refuse inputs that the network does not take: every framework would fail on them in words of its own."""
    try:
        with torch.no_grad():
            copy.deepcopy(module)(*[torch.from_numpy(array) for array in given.values()])
    except Exception as error:
        kinds = ", ".join(f"{name}: {array.dtype} {list(array.shape)}" for name, array in given.items())
        given_here = beginning(kinds, INPUTS_CHARS)
        raise Unsupported(f"The network does not take its inputs ({given_here}): {_reason(error, file)}.") from error


def _in_float64(
    torch: _Any, module: _Any, given: Arrays, file: str
) -> tuple[tuple[messages.Output, ...], tuple[Sensitivity, ...], str]:
    """Return the network's answer in float64, and how far that moves; or none, and why."""
    double = copy.deepcopy(module)

    def answer(draw: int | None) -> list[npt.NDArray[Any]]:
        """Answer with weights and inputs moved by a draw; None: as they are."""
        parts = {f"weight {name}": part for name, part in (*double.named_parameters(), *double.named_buffers())}
        exact = {name: part.numpy().copy() for name, part in parts.items()}
        arrays = dict(given)
        if draw is not None:
            for name, part in parts.items():
                part.copy_(torch.from_numpy(moved(name, exact[name], draw, FP32)))
            arrays = {name: moved(name, array, draw, FP32) for name, array in given.items()}
        tensors = [torch.from_numpy(array) for array in arrays.values()]
        answered = double(*[each.double() if each.is_floating_point() else each for each in tensors])
        found = [np.array(each) for each in outputs(answered, lambda tensor: tensor.numpy())]
        for name, part in parts.items():
            part.copy_(torch.from_numpy(exact[name]))
        return found

    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            double = double.double()
            found = answer(None)
            moves = largest(found, answer)
    except Exception as error:  # noqa: BLE001  (the network's own code may raise anything)
        return (), (), _reason(error, file)
    narrow = sorted({each.dtype.name for each in found if each.dtype.kind in "fc" and each.dtype.name not in _WIDE})
    if narrow:
        return (), (), f"asked for float64, it answers in {', '.join(narrow)}"
    return concatenated([found, found]), moves, ""


def _kept(given: Arrays, folder: Path) -> tuple[OwnInput, ...]:
    """Write the inputs' values beside the file; return their descriptions, with paths relative to the folder."""
    kept = []
    for number, (name, values) in enumerate(given.items()):
        path = f"input-{number}.npy"
        np.save(folder / path, values, allow_pickle=False)
        kept.append(OwnInput(name, values.dtype.name, values.shape, batched=False, path=path))
    return tuple(kept)


def _reason(error: Exception, file: str) -> str:
    """Return the last cause's own words, on one line, with the line of the user's file that it came from."""
    chain = [error]
    while isinstance(cause := chain[-1].__cause__, Exception):
        chain.append(cause)
    places = [
        frame.lineno for each in chain for frame in traceback.extract_tb(each.__traceback__) if frame.filename == file
    ]
    # A tracer runs the file's code by itself, and names the line in its message alone.
    places += [int(line) for each in chain for line in re.findall(rf'File "{re.escape(file)}", line (\d+)', str(each))]
    lines = [line.strip() for line in str(chain[-1]).splitlines() if line.strip()]
    where = f" (line {places[-1]} of the file)" if places else ""
    return beginning(f"{type(chain[-1]).__name__}: {lines[0] if lines else ''}", REASON_CHARS) + where
