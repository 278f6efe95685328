"""ONNX's backend tests through the reader of users' files, in real containers: three files of our own, and all."""

import json
from pathlib import Path

import docker
import numpy as np
import pytest

from levelfield.launchers.docker import DockerLauncher
from studies.onnx_suite import command
from tests.prepare.own_model import onnx_files

RIGHT = 0.97
"""Share of cases with a right verdict at the least."""

pytestmark = pytest.mark.docker


def case(root: Path, name: str, operator: str, expected: list[float]) -> dict[str, object]:
    sides = [onnx_files.value(each, onnx_files.FLOAT, [4]) for each in ("x", "y")]
    model = onnx_files.model([onnx_files.node(operator, ["x"], ["y"])], [], sides[:1], sides[1:])
    folder = root / name
    folder.mkdir()
    (folder / f"{name}.onnx").write_bytes(model)
    np.save(folder / "in.npy", np.array([-2, -1, 1, 2], np.float32))
    np.save(folder / "out.npy", np.array(expected, np.float32))
    return {
        "name": name, "kind": "node", "folder": name, "operators": [operator], "values": {"x": "in.npy"}, "sizes": {},
        "plain": True, "expected": ["out.npy"], "rtol": 1e-3, "atol": 1e-7,
    }  # fmt: skip


def test_a_verdict_is_judged_by_what_the_case_expects(engine: docker.DockerClient, tmp_path: Path) -> None:
    cases = [
        case(tmp_path, "test_relu", "Relu", [2e-7, 0, 1, 2]),
        case(tmp_path, "test_abs", "Abs", [2, 1, 1, 3]),
        case(tmp_path, "test_nonsense", "Nonsense", [0, 0, 0, 0]),
    ]
    (tmp_path / command.INDEX).write_text(json.dumps({"onnx": "0", "cases": cases}))
    record = command.run(tmp_path, DockerLauncher(engine), say=lambda _: None)
    found = {name: "".join({end for each in row.values() for end in each}) for name, row in record.counts.items()}
    assert found == {
        "Abs": "wrong",
        "Nonsense": "no reference",
        "Relu": "measured",
    }
    reasons = {group.outcome: group.reason for group in record.groups}
    assert reasons["wrong"] == "equal, and it is 1 off"
    assert "cannot run FILE" in reasons["no reference"]


@pytest.mark.extended
def test_no_case_ends_in_an_error_or_a_crash_and_verdicts_are_right(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    record = command.run(command.written(tmp_path / "cases"), DockerLauncher(engine))
    bad = [each for each in record.groups if each.outcome in {"crashed", "fault", "wrong"} or "damaged" in each.reason]
    assert not bad
    for backend in command.BACKENDS:
        assert command.share(record, backend) >= RIGHT
