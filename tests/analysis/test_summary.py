"""A run reduced to what comparisons and trends need of it, and the summary as a file."""

from pathlib import Path

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import summaries, summary
from levelfield.compare import sides
from levelfield.compare.comparison import compare_runs
from levelfield.compare.types import Verdict
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Failure, Run
from tests.analysis.many import LATENCY, small_run, write_run
from tests.compare.pairs import BARE, BOX, places
from tests.compare.runs import row, side
from tests.report.hostile import make_hostile

SHA = "0" * 64


def summarised(run: Run) -> dict[str, summary.Result]:
    made = summary.summarise(run, analysis.analyse(run), record_sha256=SHA, record_bytes=1)
    return {result.id: result for result in made.results}


def test_every_scenario_has_its_metric() -> None:
    found = summarised(small_run())
    metrics = {name.split("/")[2]: (result.metric, result.unit) for name, result in found.items() if "/" in name}
    assert metrics == {
        "latency": ("median call", "ns"),
        "throughput": ("items per second", "items/s"),
        "cold-start": ("time to first answer", "ns"),
        "memory": ("peak memory", "bytes"),
    }
    assert found["canary"].estimate == pytest.approx(4e6, rel=0.2)


def test_the_numbers_are_those_of_the_report() -> None:
    run = small_run()
    row = next(row for row in analysis.analyse(run).timed[0].rows if row.arm == "onnxruntime")
    assert row.call_ns is not None
    found = summarised(run)[LATENCY]
    assert (found.estimate, found.low, found.high) == (row.call_ns.value, row.call_ns.low, row.call_ns.high)
    assert found.image == "image onnxruntime"


def test_a_result_is_explained_by_the_image_of_its_own_place() -> None:
    run = places(1.0, scenarios=("memory",))
    made = summary.summarise(run, analysis.analyse(run), record_sha256=SHA, record_bytes=1)
    images = {result.arm: result.image for result in made.results}
    assert images == {BOX.id: "image onnxruntime", BARE.id: "image onnxruntime+launcher=venv"}
    assert [made.environment[image]["launcher"] for image in images.values()] == ["docker", "venv"]


def test_a_wrong_answer_and_a_failure_have_no_number() -> None:
    failure = Failure(stage="load", kind="crashed", message="It crashed.")
    found = summarised(small_run(failures={("openvino", "mlp"): failure}, unequal=[("onnxruntime", "mlp")]))
    assert (found[LATENCY].standing, found[LATENCY].estimate) == ("unequal", None)
    failed = found[LATENCY.replace("onnxruntime", "openvino")]
    assert (failed.standing, failed.estimate) == ("failed", None)


def test_a_summary_beside_its_record_is_believed(tmp_path: Path) -> None:
    made = write_run(small_run(), tmp_path / "run")
    assert summaries.kept(tmp_path / "run") == made
    assert summaries.from_record(tmp_path / "run", sides.check_agreement) == msgspec.structs.replace(made, seal="")


def test_a_summary_of_another_record_is_not(tmp_path: Path) -> None:
    write_run(small_run(), tmp_path / "run")
    record = tmp_path / "run" / files.NAME
    record.write_bytes(record.read_bytes() + b"\n")
    assert summaries.kept(tmp_path / "run") is None


def test_a_record_changed_without_a_change_of_size_is_found(tmp_path: Path) -> None:
    write_run(small_run(), tmp_path / "run")
    record = tmp_path / "run" / files.NAME
    record.write_bytes(record.read_bytes().replace(b'"tool_version":"0.1.0"', b'"tool_version":"0.1.1"'))
    assert summaries.kept(tmp_path / "run") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f'"schema":{summary.SCHEMA}', f'"schema":{summary.SCHEMA + 1}'),
        ('"started":"2026-11-21T10:15:00Z"', '"started":"yesterday"'),
        ('"estimate":', '"estimate":1e999,"low":'),
        ("{", "["),
    ],
)
def test_a_spoiled_summary_is_made_anew(tmp_path: Path, old: str, new: str) -> None:
    write_run(small_run(), tmp_path / "run")
    file = tmp_path / "run" / summaries.NAME
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert summaries.kept(tmp_path / "run") is None


@pytest.mark.parametrize("started", ["", "soon", "0000-00-00", "2026-13-01T00:00:00Z"])
def test_a_run_that_began_at_no_time_is_refused(started: str) -> None:
    run = msgspec.structs.replace(small_run(), started=started)
    with pytest.raises(LevelfieldError, match="no time"):
        summary.summarise(run, analysis.analyse(run), record_sha256=SHA, record_bytes=1)


def test_a_hostile_record_is_one_sentence() -> None:
    run = make_hostile(variants=False)
    with pytest.raises(LevelfieldError, match="no time"):
        summary.summarise(run, analysis.analyse(run), record_sha256=SHA, record_bytes=1)
    timed = msgspec.structs.replace(run, started="2026-11-21T10:15:00Z")
    with pytest.raises(LevelfieldError, match="length"):
        summary.summarise(timed, analysis.analyse(timed), record_sha256=SHA, record_bytes=1)


def test_throughput_is_compared_as_time_an_item() -> None:
    old, new = (side(name, 3, scenarios=["throughput"], noise_scale=0.0, slower=slower)
                for name, slower in (("a", {}), ("b", {"jax": 1.25})))  # fmt: skip
    slow = row(compare_runs(old, new), "jax")
    assert slow.verdict is Verdict.SLOWER
    assert slow.ratio is not None
    assert slow.ratio.value == pytest.approx(1.25, rel=1e-3)
    assert slow.old == pytest.approx(470, rel=0.01)  # 0.47 ms for a thousand
