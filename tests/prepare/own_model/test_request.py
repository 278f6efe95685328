"""The options on a user's own file."""

from pathlib import Path

import msgspec
import pytest

from levelfield import plan
from levelfield.paths import cache_folder
from levelfield.prepare.own_model import request, store
from levelfield.report import rerun
from levelfield.run import reproduce
from tests.prepare.own_model import onnx_files
from tests.prepare.own_model.onnx_files import read, refused
from tests.records_builder import make_run

pytestmark = pytest.mark.usefixtures("cache")


def test_options_without_a_file(tmp_path: Path) -> None:
    with refused("--dim is about a file", "--model FILE.onnx"):
        request.read(None, (("a", "1"),), ())
    path = onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier())
    with refused("--dim was given twice for a"):
        request.read(path, (("a", "1"), ("a", "2")), ())
    assert request.read(None, (), ()) is None


def test_a_report_of_it_is_run_again_by_content(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    one = read(path, {"sequence": 12})
    run = make_run(models=["mlp"], backends=["onnxruntime"], scenarios=["latency"], generations=1, rounds=1)
    measured = msgspec.structs.replace(run.settings, models=(one.model,), own=one)
    run = msgspec.structs.replace(run, settings=measured)
    assert reproduce.intent(run).selection.own == one
    assert plan.of_record(run).own == one
    assert "--model encoder.onnx --dim sequence=12" in rerun.command(run)
    kept = cache_folder("artifacts") / "own" / one.sha256
    (kept / store.MODEL).unlink()
    with refused("The run measured encoder.onnx", "which is not here"):
        reproduce.intent(run)
    other = onnx_files.write(tmp_path, "other.onnx", onnx_files.classifier())
    with refused("other.onnx is not the file that was measured"):
        request.keep_recorded(other, one)
    request.keep_recorded(path, one)
    assert reproduce.intent(run).selection.own == one
    with refused("needs no file"):
        request.keep_recorded(path, None)
