"""Writes the backend tests of the `onnx` package as files; run by the Python of an environment that has it.

Of each case the first set of data is taken, and of that what NumPy itself has a type for.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

KINDS = ("simple", "pytorch-converted", "pytorch-operator")
"""Of the cases that are folders of the package, besides those of single operators, which it makes."""
INDEX = "cases.json"


def write(out: Path) -> None:
    """Write a folder for every case, and an index of them."""
    index = []
    for number, (name, kind, model, given, expected, case) in enumerate(_cases()):
        folder = out / f"{number:04d}"
        folder.mkdir(parents=True)
        (folder / f"{name}.onnx").write_bytes(model)
        graph = onnx.load_from_string(model).graph
        weights = {each.name for each in graph.initializer}
        declared = [each for each in graph.input if len(given) == len(graph.input) or each.name not in weights]
        pairs = [
            (value, *_kept(data, folder / f"in-{at}.npy"))
            for at, (value, data) in enumerate(zip(declared, given, strict=False))
        ]
        wanted = [_kept(value, folder / f"out-{at}.npy")[0] for at, value in enumerate(expected)]
        index.append(
            {
                "name": name,
                "kind": kind,
                "folder": folder.name,
                "operators": [each.op_type for each in graph.node],
                "values": {value.name: file for value, file, _ in pairs if file and value.name not in weights},
                "sizes": {
                    side.dim_param or f"{value.name}[{axis}]": size
                    for value, _, shape in pairs
                    for axis, (side, size) in enumerate(zip(value.type.tensor_type.shape.dim, shape, strict=False))
                    if not side.HasField("dim_value")
                },
                "plain": all(file for _, file, _ in pairs) and all(wanted),
                "expected": wanted,
                "rtol": case.rtol,
                "atol": case.atol,
            }
        )
    (out / INDEX).write_text(json.dumps({"onnx": onnx.__version__, "cases": index}), encoding="utf-8")


def _cases() -> Iterator[tuple[str, str, bytes, list[Any], list[Any], Any]]:
    for case in collect_testcases(None):
        if case.kind == "node":
            yield case.name, case.kind, case.model.SerializeToString(), *case.data_sets[0], case
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            folder = Path(case.model_dir)
            data = folder / "test_data_set_0"
            given, wanted = (_tensors(data, which) for which in ("in", "out"))
            yield case.name, kind, (folder / "model.onnx").read_bytes(), given, wanted, case


def _tensors(folder: Path, what: str) -> list[Any]:
    return [_loaded(folder / f"{what}put_{at}.pb") for at in range(len(list(folder.glob(f"{what}put_*.pb"))))]


def _loaded(path: Path) -> Any:  # noqa: ANN401  (an array, or nothing that NumPy has)
    try:
        return numpy_helper.to_array(onnx.load_tensor(str(path)))
    except Exception:  # noqa: BLE001  (a sequence, or an optional value)
        return None


def _kept(value: Any, path: Path) -> tuple[str, tuple[int, ...]]:  # noqa: ANN401  (whatever a case is given)
    """Save an array of numbers; return the file's name, or nothing, and the shape."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if not isinstance(value, np.ndarray | np.generic):
        return "", ()
    array = np.asarray(value)
    if array.dtype.isbuiltin == 1 and array.dtype.kind in "fiub":
        np.save(path, array, allow_pickle=False)
        return path.name, array.shape
    return "", array.shape


if __name__ == "__main__":
    write(Path(sys.argv[1]))
