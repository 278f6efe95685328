"""Runs by the names that people give them."""

from pathlib import Path

import msgspec
import pytest

from levelfield.analysis.summary import Answer
from levelfield.compare import sides
from levelfield.compare.sides import CaseResults, find, load, load_all, verdict_without_costs
from levelfield.compare.types import Outcome, Verdict
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Arm, Case
from tests.compare.runs import one, row, run, with_launches


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    for name in ("20260101-a", "20260102-b"):
        folder = tmp_path / name
        folder.mkdir()
        files.write(run(name), folder)
    return tmp_path


def test_a_run_has_an_id_a_folder_and_a_file(reports: Path) -> None:
    record = reports / "20260101-a" / files.NAME
    assert find("20260101-a", reports) == record
    assert find(str(reports / "20260101-a"), reports / "elsewhere") == record
    assert find(str(record), reports / "elsewhere") == record


def test_a_misspelt_run_is_answered_with_what_is_close(reports: Path) -> None:
    with pytest.raises(LevelfieldError) as caught:
        find("20260101-x", reports)
    assert "20260101-a" in caught.value.fix


def test_a_folder_without_a_record_is_no_run(reports: Path) -> None:
    (reports / "notes").mkdir()
    with pytest.raises(LevelfieldError, match="holds no record"):
        find(str(reports / "notes"), reports)
    (reports / "notes" / files.JOURNAL).touch()
    with pytest.raises(LevelfieldError, match="was cut off") as caught:
        find("notes", reports)
    assert caught.value.fix == "Finish it with bench --resume."


def test_runs_are_loaded_in_order_with_their_digests(reports: Path) -> None:
    records = [find(name, reports) for name in ("20260102-b", "20260101-a")]
    found = load_all(records)
    assert [each.facts.id for each in found] == ["20260102-b", "20260101-a"]
    assert [each.facts.sha256 for each in found] == [load(record).facts.sha256 for record in records]
    assert len({each.facts.sha256 for each in found}) == 2


def test_what_is_no_record_is_refused(reports: Path) -> None:
    file = reports / "20260101-a" / files.NAME
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(LevelfieldError):
        load(file)


ORT = Arm("onnxruntime", "onnxruntime")
OLD_ORT = Arm("onnxruntime", "onnxruntime", version="1.30.0")
OLDER_ORT = Arm("onnxruntime", "onnxruntime", version="1.29.0")
SPUN = Arm("onnxruntime", "onnxruntime", settings={"spinning": "off"})
CU12, CU13 = Arm("torch", "torch", variant="cu12"), Arm("torch", "torch", variant="cu13")
TWICE = Arm("onnxruntime", "onnxruntime", ordinal=2)


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        ([ORT], [ORT], [(ORT, ORT)]),
        ([OLD_ORT], [ORT], [(OLD_ORT, ORT)]),
        ([OLD_ORT], [OLDER_ORT], [(OLD_ORT, OLDER_ORT)]),
        ([OLD_ORT, ORT], [ORT], [(OLD_ORT, None), (ORT, ORT)]),
        ([OLD_ORT, ORT], [OLDER_ORT, ORT], [(OLD_ORT, OLDER_ORT), (ORT, ORT)]),
        ([OLD_ORT, OLDER_ORT], [ORT], [(OLD_ORT, None), (OLDER_ORT, None), (None, ORT)]),
        ([CU12], [CU13], [(CU12, CU13)]),
        ([SPUN], [ORT], [(SPUN, None), (None, ORT)]),
        ([TWICE], [ORT], [(TWICE, None), (None, ORT)]),
        ([], [ORT], [(None, ORT)]),
        ([], [], []),
    ],
)
def test_arms(old: list[Arm], new: list[Arm], pairs: list[tuple[Arm | None, Arm | None]]) -> None:
    found = sides.pair_arms({arm.id: arm for arm in old}, {arm.id: arm for arm in new})
    assert list(found) == [(first.id if first else "", second.id if second else "") for first, second in pairs]


def test_an_injected_slowdown_does_not_part_an_arm_from_itself() -> None:
    slowed = Arm("onnxruntime", "onnxruntime", version="1.30.0", inject="5%")
    assert sides.pair_arms({slowed.id: slowed}, {ORT.id: ORT}) == ((slowed.id, ORT.id),)


CASE = Case("mlp", "latency", "fp32", 1, 2)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (Case("mlp", "latency", "fp32", 1, 4), "2 threads before, 4 now"),
        (Case("mlp", "latency", "bf16", 1, 2), "fp32 before, bf16 now"),
        (Case("mlp", "latency", "bf16", 1, 1, "cuda:0"), "2 threads before, 1 now, fp32 before, bf16 now, on cpu"),
        (Case("mlp", "latency", "fp32", 1, 2, processes=2), "in 1 process before, in 2 now"),
        (Case("mlp", "latency", "fp32", 1, 2, depth=5), "at a depth of 0 before, of 5 now"),
        (Case("mlp", "latency", "fp32", 1, 2, growing_cache=True), "with a static cache before, a growing one now"),
        (Case("mlp", "latency", "fp32", 8, 2), None),
        (Case("bert", "latency", "fp32", 1, 2), None),
        (Case("mlp", "throughput", "fp32", 1, 2), None),
    ],
)
def test_a_case_that_is_almost_the_same_is_named(other: Case, says: str | None) -> None:
    found = sides.similar_case(CASE, {other.id: other})
    if says is None:
        assert found is None
    else:
        assert found == other
        assert sides.describe_difference(CASE, other).startswith(says)


def test_of_two_that_are_almost_the_same_none_is_guessed() -> None:
    others = [Case("mlp", "latency", "fp32", 1, threads) for threads in (1, 4)]
    assert sides.similar_case(CASE, {other.id: other for other in others}) is None


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("inputs_sha256", "the inputs are not the same"),
        ("weights_sha256", "the weights are not the same"),
        ("onnx_sha256", "the model file is not the same"),
    ],
)
def test_other_digests_give_a_sentence_instead_of_a_number(field: str, says: str) -> None:
    new = with_launches(run("b"), lambda launch: msgspec.structs.replace(launch, **{field: "e" * 64}))
    found = row(one(run("a"), new), "onnxruntime")
    assert found.verdict is Verdict.INCOMPARABLE
    assert found.outcome == "undecided"
    assert found.reason.startswith(says)
    assert found.reason.endswith("eeeeeeee now)")
    assert found.ratio is None


def test_another_timed_region_is_another_time() -> None:
    new = run("b")
    new = msgspec.structs.replace(new, settings=msgspec.structs.replace(new.settings, timed_region="device only"))
    assert "timed region" in one(run("a"), new).rows[0].reason


FINE = Answer("ranked", cost=1.0)
UNEQUAL = Answer("unequal", "its output is not equal to the reference")
FAILED = Answer("failed", "it would not load", failure="error")
STOPPED = Answer("failed", "the engine stopped", failure="engine")
UNSUPPORTED = Answer("absent", "no kernels for it", failure="unsupported")
ABSENT = Answer("absent", "the run ended before its turn")


@pytest.mark.parametrize(
    ("old", "new", "verdict", "outcome", "reason"),
    [
        (FINE, UNEQUAL, Verdict.UNEQUAL, "worse", UNEQUAL.reason),
        (UNEQUAL, UNEQUAL, Verdict.UNEQUAL, "undecided", UNEQUAL.reason),
        (FAILED, UNEQUAL, Verdict.UNEQUAL, "worse", UNEQUAL.reason),
        (FINE, FAILED, Verdict.FAILED, "worse", FAILED.reason),
        (FINE, STOPPED, Verdict.FAILED, "undecided", STOPPED.reason),
        (FAILED, FAILED, Verdict.FAILED, "undecided", FAILED.reason),
        (FINE, UNSUPPORTED, Verdict.FAILED, "worse", UNSUPPORTED.reason),
        (FINE, ABSENT, Verdict.MISSING, "undecided", ABSENT.reason),
        (FAILED, FINE, Verdict.RECOVERED, "aside", f"the old side failed: {FAILED.reason}"),
        (UNEQUAL, FINE, Verdict.RECOVERED, "aside", "the old answer was not equal to the reference"),
        (ABSENT, FINE, Verdict.ADDED, "aside", ABSENT.reason),
    ],
)
def test_without_two_costs_there_is_a_verdict_all_the_same(
    old: Answer, new: Answer, verdict: Verdict, outcome: Outcome, reason: str
) -> None:
    assert verdict_without_costs(CaseResults(1, (old,)), CaseResults(1, (new,))) == (verdict, outcome, reason)


def test_two_costs_are_compared() -> None:
    assert verdict_without_costs(CaseResults(1, (FINE,)), CaseResults(1, (FINE,))) is None
