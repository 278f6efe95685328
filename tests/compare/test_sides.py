"""Runs by the names that people give them."""

from pathlib import Path

import msgspec
import pytest

from levelfield.analysis.summary import Answer
from levelfield.compare import sides
from levelfield.compare.sides import CaseResults, find, verdict_without_costs
from levelfield.compare.types import Outcome, Verdict
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Arm, OwnFile, Run
from tests.compare.runs import one, row, run
from tests.records_builder import kept, with_launches


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    for name in ("20260101-a", "20260102-b"):
        kept(run(name), tmp_path / name)
    return tmp_path


def test_a_run_has_an_id_a_folder_and_a_file(reports: Path) -> None:
    record = reports / "20260101-a" / files.NAME
    assert find("20260101-a", reports) == record
    assert find(str(reports / "20260101-a"), reports / "elsewhere") == record
    assert find(str(record), reports / "elsewhere") == record


def test_what_was_typed_comes_before_a_run_of_that_name(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = reports / reports.name / "20260101-a"
    inner.mkdir(parents=True)
    files.write(run("20260102-b"), inner)
    monkeypatch.chdir(reports.parent)
    for typed in (f"{reports.name}/20260101-a", f"./{reports.name}/20260101-a"):
        assert find(typed, Path(reports.name)).resolve() == reports / "20260101-a" / files.NAME


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


ORT = Arm("onnxruntime", "onnxruntime")
OLD_ORT = Arm("onnxruntime", "onnxruntime", version="1.30.0")
OLDER_ORT = Arm("onnxruntime", "onnxruntime", version="1.29.0")
SPUN = Arm("onnxruntime", "onnxruntime", settings={"spinning": "off"})
CU12, CU13 = Arm("torch", "torch", variant="cu12"), Arm("torch", "torch", variant="cu13")


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        ([ORT], [ORT], [(ORT, ORT)]),
        ([OLD_ORT], [ORT], [(OLD_ORT, ORT)]),
        ([OLD_ORT, ORT], [ORT], [(OLD_ORT, None), (ORT, ORT)]),
        ([OLD_ORT, ORT], [OLDER_ORT, ORT], [(OLD_ORT, OLDER_ORT), (ORT, ORT)]),
        ([OLD_ORT, OLDER_ORT], [ORT], [(OLD_ORT, None), (OLDER_ORT, None), (None, ORT)]),
        ([CU12], [CU13], [(CU12, CU13)]),
        ([SPUN], [ORT], [(SPUN, None), (None, ORT)]),
        ([], [ORT], [(None, ORT)]),
    ],
)
def test_arms(old: list[Arm], new: list[Arm], pairs: list[tuple[Arm | None, Arm | None]]) -> None:
    found = sides.pair_arms({arm.id: arm for arm in old}, {arm.id: arm for arm in new})
    assert list(found) == [(first.id if first else "", second.id if second else "") for first, second in pairs]


def test_an_injected_slowdown_does_not_part_an_arm_from_itself() -> None:
    slowed = Arm("onnxruntime", "onnxruntime", version="1.30.0", inject="5%")
    assert sides.pair_arms({slowed.id: slowed}, {ORT.id: ORT}) == ((slowed.id, ORT.id),)


def test_other_digests_give_a_sentence_instead_of_a_number() -> None:
    new = with_launches(run("b"), lambda launch: msgspec.structs.replace(launch, inputs_sha256="e" * 64))
    found = row(one(run("a"), new), "onnxruntime")
    assert (found.verdict, found.outcome) == (Verdict.INCOMPARABLE, "undecided")
    assert found.reason.startswith("the inputs are not the same")
    assert found.reason.endswith("eeeeeeee now)")
    assert found.ratio is None


def test_networks_of_one_name_and_other_files_are_not_the_same() -> None:
    def of_file(name: str, sha256: str) -> Run:
        bare = with_launches(run(name), lambda launch: msgspec.structs.replace(launch, weights_sha256=""))
        own = OwnFile("mlp", "net.py", sha256, 1, (), (), "fp32", 0)
        return msgspec.structs.replace(bare, settings=msgspec.structs.replace(bare.settings, own=own))

    found = one(of_file("a", "0" * 64), of_file("b", "1" * 64))
    assert {each.verdict for each in found.rows} == {Verdict.INCOMPARABLE}
    assert row(one(of_file("a", "0" * 64), of_file("b", "0" * 64)), "onnxruntime").ratio is not None


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
        (FINE, FAILED, Verdict.FAILED, "worse", FAILED.reason),
        (FINE, STOPPED, Verdict.FAILED, "undecided", STOPPED.reason),
        (FINE, UNSUPPORTED, Verdict.FAILED, "worse", UNSUPPORTED.reason),
        (FINE, ABSENT, Verdict.MISSING, "undecided", ABSENT.reason),
        (FAILED, FINE, Verdict.RECOVERED, "aside", f"the old side failed: {FAILED.reason}"),
        (ABSENT, FINE, Verdict.ADDED, "aside", ABSENT.reason),
    ],
)
def test_without_two_costs_there_is_a_verdict_all_the_same(
    old: Answer, new: Answer, verdict: Verdict, outcome: Outcome, reason: str
) -> None:
    assert verdict_without_costs(CaseResults(1, (old,)), CaseResults(1, (new,))) == (verdict, outcome, reason)
