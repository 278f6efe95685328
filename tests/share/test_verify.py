"""A report that holds is said to hold, and a single changed digit is found."""

import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelfield.analysis import analyse
from levelfield.compare.ab import compare_arms
from levelfield.compare.formats.html import within
from levelfield.compare.types import Gate
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.page import NAME, pack
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.share import statement
from levelfield.share import verify as verifying
from levelfield.share.attestation import decode, read
from levelfield.share.verify import Verified, render, verify
from tests.compare import pairs
from tests.share.evidence import broken, check, key, leave, small

CONSISTENT = "consistent, but unsigned"
UNKNOWN = "consistent, but signer unknown"


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leave(small(), tmp_path_factory.mktemp("small"))


def says(found: Verified, topic: str) -> str:
    return next(each.says for each in found.checks if each.topic == topic)


def plain(folder: Path, run: Run) -> Path:
    """The record as JSON beside what lies in a folder, as earlier versions kept it."""
    return files.write(run, folder)


def test_a_folder_a_page_alone_and_a_record_alone_hold(left: Path, tmp_path: Path) -> None:
    for path in (left, left / NAME, plain(tmp_path, small()), tmp_path):
        found = check(path)
        assert (broken(found), found.verdict, found.record_verdict, found.exit_code) == ("", CONSISTENT, CONSISTENT, 0)
    assert "byte for byte" in says(check(left), "page")
    assert "no page here" in says(check(tmp_path), "page")
    assert "There is none" in says(check(tmp_path), "statement")


def test_a_page_beside_a_record_is_said_not_to_be_looked_at(tmp_path: Path) -> None:
    """Whoever gives the record alone must not take the page beside it for verified."""
    record = plain(tmp_path, small())
    assert "no page here" in says(check(record), "page")
    (tmp_path / NAME).write_text("forged")
    assert "was not looked at: give the folder" in says(check(record), "page")


def test_a_folder_with_a_record_of_old_holds_too(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path)
    plain(folder, small())
    assert check(folder).verdict == CONSISTENT
    plain(folder, msgspec.structs.replace(small(), tool_version="9"))
    assert "not the record inside the page" in broken(check(folder))


# ---- a single digit ------------------------------------------------------------------------------------------------


def turned(text: str, place: int, step: int) -> str:
    return text[:place] + str((int(text[place]) + step) % 10) + text[place + 1 :]


@cache
def digits(text: str) -> tuple[int, ...]:
    return tuple(match.start() for match in re.finditer(r"[0-9]", text))


def holds(**inputs: Any) -> bool:
    try:
        return verify(decode("x", **inputs)).exit_code == 0
    except LevelfieldError:
        return False


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.booleans(), st.integers(1, 9))
def test_a_changed_digit_of_the_page_is_found(left: Path, share: float, block: bool, step: int) -> None:
    text = (left / NAME).read_text()
    start = text.index('id="record">')
    places = [place for place in digits(text) if (place > start) is block]
    changed = turned(text, places[int(share * len(places))], step).encode()
    # What a block may say otherwise: which version wrote it, and how it was compressed.
    assert not holds(page=changed) or (block and decode("x", page=changed).content == files.encode(small()))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 9))
def test_a_changed_digit_of_the_record_is_found(left: Path, tmp_path: Path, share: float, step: int) -> None:
    text = files.encode(small()).decode()
    places = digits(text)
    changed = turned(text, places[int(share * len(places))], step).encode()
    assert not holds(page=(left / NAME).read_bytes(), record=changed)
    (tmp_path / statement.NAME).write_bytes((left / statement.NAME).read_bytes())
    assert not holds(record=changed, folder=tmp_path)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 9))
def test_a_changed_digit_of_a_bill_or_the_statement_is_found(
    left: Path, tmp_path_factory: pytest.TempPathFactory, share: float, step: int
) -> None:
    for name in ("sbom/canary-cpu.cdx.json", statement.NAME):
        folder = shutil.copytree(left, tmp_path_factory.mktemp("copy") / "run")
        text = (folder / name).read_text()
        places = digits(text)
        (folder / name).write_text(turned(text, places[int(share * len(places))], step))
        found = check(folder)
        assert (found.verdict, found.exit_code) == ("verification failed", 1)
        assert broken(found)


def test_a_changed_figure_is_named(left: Path) -> None:
    text = (left / NAME).read_text()
    figure = re.compile(r'<td class="num">[^<]*?(\d+\.\d+)').search(text, text.index("<caption>"))
    assert figure is not None
    changed = text[: figure.start(1)] + "0.00123" + text[figure.end(1) :]
    found = verify(decode("x", page=changed.encode()))
    assert "0.00123" in broken(found)
    assert (found.verdict, found.record_verdict) == ("verification failed", CONSISTENT)


@pytest.mark.parametrize("tables", [True, False])
def test_a_page_by_another_version_is_not_verified_and_its_record_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: bool
) -> None:
    ada, signers = key(tmp_path)
    page = leave(small(), tmp_path / "run", ada) / NAME
    text = page.read_text().replace("Skip to the verdict", "Skip")
    page.write_text(text if tables else re.sub(r"<table.*?</table>", "", text, flags=re.DOTALL))
    monkeypatch.setattr(verifying, "tool_sha256", lambda: "f" * 64)
    found = check(page, signers)
    assert (found.verdict, found.record_verdict, found.exit_code) == ("not verified", "verified", 3)
    assert "“" in next(each.named[0] for each in found.checks if each.topic == "page")
    (tmp_path / "fresh.html").write_text(render(read(page)))
    assert check(tmp_path / "fresh.html", signers).verdict == "verified"


def test_a_page_by_another_version_that_is_the_same_holds(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "tool_sha256", lambda: "f" * 64)
    assert check(left / NAME).verdict == CONSISTENT


@pytest.mark.parametrize(
    ("words", "gate"),
    [
        ((), Gate()),
        (("--max-slowdown", "20%"), Gate(max_slowdown=0.2)),
        (("--max-slowdown=x",), Gate()),
        (("--max-slowdown=4%", "--max-slowdown=20%"), Gate(max_slowdown=0.2)),
    ],
)
def test_a_page_of_two_arms_is_that_of_the_gate_that_the_run_was_made_with(
    tmp_path: Path, words: tuple[str, ...], gate: Gate
) -> None:
    """One record has one page: with another gate the same record would say something else."""
    measured = pairs.ended(pairs.run(1.05, models=("mlp",), scenarios=("latency",), generations=12))
    run = msgspec.structs.replace(measured, command=("levelfield", "ab", *words))
    settings = msgspec.structs.replace(run.settings, max_slowdown=gate.max_slowdown)
    for made in (run, msgspec.structs.replace(run, settings=settings, command=())):
        evidence = pack(files.encode(made))
        for asked in (Gate(), Gate(max_slowdown=0.2)):
            compared = within(compare_arms(made, asked, evidence.sha256))
            (tmp_path / NAME).write_text(html.render(made, analyse(made), comparison=compared, evidence=evidence))
            assert (check(tmp_path / NAME).exit_code == 0) is (asked == gate)


# ---- forgeries -----------------------------------------------------------------------------------------------------


def forged() -> Run:
    """The record, every time of one arm a tenth shorter."""
    plain = msgspec.to_builtins(small())
    for block in plain["blocks"]:
        for generation in block["generations"]:
            for round_ in generation["rounds"]:
                for turn in round_["turns"]:
                    if turn["arm"] == "jax" and turn["window"]:
                        turn["window"]["samples_ns"] = [9 * time // 10 for time in turn["window"]["samples_ns"]]
    return msgspec.convert(plain, Run)


def test_a_forgery_made_anew_is_consistent_and_never_verified(tmp_path: Path) -> None:
    _, signers = key(tmp_path)
    folder = leave(forged(), tmp_path / "run")
    for path in (folder, folder / NAME):
        assert (check(path).verdict, check(path).exit_code) == (CONSISTENT, 0)
        assert (check(path, signers).verdict, check(path, signers).exit_code) == (CONSISTENT, 3)


def test_what_a_known_signer_signed_is_verified_also_from_the_page_alone(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    _, others = key(tmp_path, "eve")
    folder = leave(small(), tmp_path / "run", ada)
    for path in (folder, folder / NAME):
        found = check(path, signers)
        assert broken(found) == ""
        assert (found.verdict, found.exit_code, found.signer) == ("verified", 0, "ada@example.org")
        assert check(path).verdict == UNKNOWN
        assert "--signers" in says(check(path), "signature")
        assert (check(path, others).verdict, check(path, others).exit_code) == (UNKNOWN, 3)


def test_a_forgery_under_somebodys_signature_does_not_hold(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    honest = leave(small(), tmp_path / "honest", ada)
    false = leave(forged(), tmp_path / "false")
    shutil.copy(honest / statement.SIGNATURE, false)
    assert "not of this statement" in broken(check(false, signers))
    shutil.copy(honest / statement.NAME, false)
    assert "not of this record" in broken(check(false, signers))
    assert check(false, signers).verdict == "verification failed"


def test_another_record_inside_a_signed_page_is_found(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    signed = (leave(small(), tmp_path / "run", ada) / NAME).read_text()
    other = (leave(msgspec.structs.replace(small(), tool_version="9"), tmp_path / "other") / NAME).read_text()
    start, end = '<script type="application/json" id="statement">', "</script>"
    kept = signed[signed.index(start) :]
    page = other[: other.index(start)] + kept[: kept.index(end)] + other[other.rindex(end) :]
    found = verify(decode("x", page=page.encode()), signers=signers)
    assert found.verdict == "verification failed"
    assert "It is not of this record." in broken(found)
