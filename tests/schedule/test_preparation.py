"""Of several functions of one file, one that cannot be measured costs the others nothing."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield import analysis, plan
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection
from levelfield.prepare.artifacts import Artifacts
from levelfield.prepare.own_model import python_file, reference
from levelfield.prepare.own_model.python_file import Exported
from levelfield.record.schema import Image, OwnFile
from levelfield.schedule import preparation
from levelfield.schedule.listener import SilentListener
from levelfield.worker.session import concatenated
from tests import canaries
from tests.prepare.test_artifacts import EXPORTER, Exporting

FILE = """
import torch
def network(): ...
def broken(): ...
"""
EXPORTS = """
import hashlib, json, pathlib, sys
request = json.loads(sys.stdin.readline())
reply = {"type": "failed", "kind": "error", "message": "ZeroDivisionError: division by zero", "detail": ""}
if request["own"]["function"] == "network":
    pathlib.Path(request["folder"], "model.onnx").write_bytes(b"graph")
    files = {"model.onnx": hashlib.sha256(b"graph").hexdigest()}
    reply = {"type": "exported", "files": files, "opset": 20, "versions": {}}
print(json.dumps(reply), flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.usefixtures("cache")


class Exporter(Exporting):
    def prepare(self, *_: object) -> Image:
        return EXPORTER


@pytest.fixture
def own(tmp_path: Path) -> OwnFile:
    (tmp_path / "net.py").write_text(FILE)
    return python_file.keep(f"{tmp_path / 'net.py'}:network,broken")


def test_the_others_are_exported(own: OwnFile) -> None:
    def exports(own: OwnFile) -> dict[str, Exported | LevelfieldError]:
        made = plan.make(Selection(profile="smoke", own=own, backends=("onnxruntime",)), available=[0])
        found: dict[str, Exported | LevelfieldError] = {}
        files = preparation._exports(made, Exporter(EXPORTS), Artifacts(), found, SilentListener())
        assert {key.model for key in files} == {own.model}
        return found

    exported, error = exports(own).values()
    assert isinstance(exported, Exported)
    assert isinstance(error, LevelfieldError)
    assert "broken of net.py did not run where networks are exported: ZeroDivisionError" in error.message
    with pytest.raises(LevelfieldError, match="ZeroDivisionError"):
        exports(own.sized[1])


def test_the_others_have_a_reference(own: OwnFile) -> None:
    made = plan.make(Selection(profile="smoke", own=own, backends=("onnxruntime",)), available=[0])
    answers = concatenated([[np.ones(2)], [np.ones(2)]])
    exported: dict[str, Exported | LevelfieldError] = {
        own.model: Exported(None, (), answers, {}),
        own.sized[1].model: LevelfieldError("It divides by zero."),
    }
    found = preparation._own(made, {}, {}, exported, SilentListener())
    assert [each.unusable for each in found] == ["", "It divides by zero."]
    assert found[0].answers


def test_its_cases_are_absent_with_the_reason(own: OwnFile, tmp_path: Path) -> None:
    broken = own.sized[1]
    measured, absent = canaries.plan("memory"), canaries.plan("memory", model=broken.model)
    own = msgspec.structs.replace(own, model=measured.blocks[0].case.model)
    models = (*measured.models, broken.model)
    made = msgspec.structs.replace(measured, blocks=(*measured.blocks, *absent.blocks), models=models, own=own)
    missing = reference.without_answers(broken, "broken of net.py did not run: ZeroDivisionError.")
    where = msgspec.structs.replace(canaries.site(measured), own=(missing,))
    run = canaries.Harness(made, tmp_path, where=where).measure(where=where)
    failures = [
        [launch.failure for generation in block.generations for launch in generation.launches] for block in run.blocks
    ]
    assert failures[0] == [None, None]
    assert [each and (each.kind, each.message) for each in failures[1]] == [("unsupported", missing.unusable)] * 2
    assert analysis.analyse(run).exit_code == 0
