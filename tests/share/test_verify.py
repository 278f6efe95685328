"""A report that holds is said to hold, and a single changed digit is found."""

import re
import shutil
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.share import statement
from levelfield.share.inputs import VerificationInput
from levelfield.share.verify import Verified, verify
from tests.records_builder import make_run
from tests.share.evidence import TOOL_SHA256, broken, check, key, large, leave, small

CONSISTENT = "consistent, but unsigned"
UNKNOWN = "consistent, but signer unknown"


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leave(small(), tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def thinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leave(large(), tmp_path_factory.mktemp("large"))


def says(found: Verified, topic: str) -> str:
    return next(each.says for each in found.checks if each.topic == topic)


def test_a_folder_a_page_alone_and_a_record_alone_hold(left: Path, thinned: Path) -> None:
    for folder in (left, thinned):
        for path in (folder, folder / "report.html", folder / "run.json"):
            found = check(path)
            assert broken(found) == ""
            assert found.verdict == CONSISTENT
            assert found.exit_code == 0


def test_it_says_from_which_samples_it_computed(left: Path, thinned: Path) -> None:
    assert "all samples, which are in run.json" in says(check(thinned), "figures")
    assert "all samples, which are inside the page" in says(check(left / "report.html"), "figures")
    inside = says(check(thinned / "report.html"), "figures")
    assert re.search(r"the samples inside the page; of \d results they are [\d,]+ of [\d,]+", inside)
    assert "no page here" in says(check(left / "run.json"), "figures")


# ---- a single digit ------------------------------------------------------------------------------------------------


def turned(text: str, place: int, step: int) -> str:
    return text[:place] + str((int(text[place]) + step) % 10) + text[place + 1 :]


@cache
def digits(text: str) -> tuple[int, ...]:
    return tuple(match.start() for match in re.finditer(r"[0-9]", text))


def holds(inputs: VerificationInput) -> bool:
    try:
        return verify(inputs, tool_sha256=TOOL_SHA256).verdict != "verification failed"
    except LevelfieldError:
        return False


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.booleans(), st.integers(1, 9))
def test_a_changed_digit_of_the_page_is_found(left: Path, share: float, block: bool, step: int) -> None:
    text = (left / "report.html").read_text()
    start = text.index('id="record">')
    places = [place for place in digits(text) if (place > start) is block]
    changed = turned(text, places[int(share * len(places))], step)
    assert not holds(VerificationInput(name="x", page=changed))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 9))
def test_a_changed_digit_of_the_record_is_found(left: Path, share: float, step: int) -> None:
    text = (left / "run.json").read_text()
    places = digits(text)
    changed = turned(text, places[int(share * len(places))], step).encode()
    page, stated = (left / "report.html").read_text(), (left / statement.NAME).read_bytes()
    assert not holds(VerificationInput(name="x", page=page, record=changed))
    assert not holds(VerificationInput(name="x", record=changed, statement=stated))


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
        found = check(folder / "run.json")
        assert found.verdict == "verification failed"
        assert found.exit_code == 1
        assert broken(found)


def test_a_changed_figure_is_named(left: Path) -> None:
    text = (left / "report.html").read_text()
    row = text.index("onnxruntime", text.index("<caption>"))
    figure = re.compile(r'<td class="num">[^<]*?(\d+\.\d+)').search(text, row)
    assert figure is not None
    changed = text[: figure.start(1)] + "0.001" + text[figure.end(1) :]
    said = broken(verify(VerificationInput(name="x", page=changed), tool_sha256=TOOL_SHA256))
    assert "1 part of the page does not follow from all samples, which are inside the page." in said
    assert "› onnxruntime ›" in said
    assert "the page says “0.001" in said
    assert f"its record gives “{figure[1]}" in said


def test_a_changed_gain_of_a_larger_batch_is_named(tmp_path: Path) -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency", "throughput"), rounds=2, max_calls=12)
    run = msgspec.structs.replace(run, images=(), tool_sha256=TOOL_SHA256)
    text = (leave(run, tmp_path) / "report.html").read_text()
    start = text.index("items/s by batch</caption>")
    gain = re.compile(r'(?<=<td class="num">)[\d.]+(?=×</td>)').search(text, start)
    assert gain is not None
    changed = f"{text[: gain.start()]}9{gain[0]}{text[gain.end() :]}"
    found = broken(verify(VerificationInput(name="x", page=changed), tool_sha256=TOOL_SHA256))
    assert "MLP, fp32, 2 threads: k items/s by batch › jax › Gain" in found
    assert f"“9{gain[0]}×”" in found


def test_a_page_by_another_version_may_be_written_differently(left: Path) -> None:
    text = (left / "report.html").read_text().replace("Skip to the verdict", "Skip")
    found = verify(VerificationInput(name="x", page=text), tool_sha256="f" * 64)
    assert found.verdict == "not verified"
    assert found.exit_code == 3
    (said,) = [each for each in found.checks if each.topic == "figures"]
    assert said.state == "unverified"
    assert re.search(r"[1-9]\d* figures in its tables follow from all samples, which are inside the page\.", said.says)
    assert "Take that version" in said.says


@settings(max_examples=30, deadline=None)
@given(share=st.floats(0, 0.999))
def test_a_figure_changed_in_a_page_by_another_version_is_named(left: Path, share: float) -> None:
    text = (left / "report.html").read_text().replace("Skip to the verdict", "Skip")
    figures = list(re.finditer(r'<td class="num">[^<]*?(\d+)', text))
    figure = figures[int(share * len(figures))]
    changed = f"{text[: figure.start(1)]}9{text[figure.start(1) :]}"
    found = verify(VerificationInput(name="x", page=changed), tool_sha256="f" * 64)
    assert found.verdict == "not verified"
    assert found.exit_code == 3
    (said,) = [each for each in found.checks if each.topic == "figures"]
    assert any("the page says “" in each for each in said.named)
    assert "take that version to tell" in said.says


def test_a_page_without_the_tables_is_not_taken_for_another_versions(left: Path) -> None:
    text = re.sub(r"<table.*?</table>", "", (left / "report.html").read_text(), flags=re.DOTALL)
    found = verify(VerificationInput(name="x", page=text), tool_sha256="f" * 64)
    assert found.verdict == "not verified"
    assert "take that version to tell" in "".join(each.says for each in found.checks)


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
    for path in (folder, folder / "report.html", folder / "run.json"):
        assert check(path).verdict == CONSISTENT
        assert check(path).exit_code == 0
        assert check(path, signers).verdict == CONSISTENT
        assert check(path, signers).exit_code == 3


def test_what_a_known_signer_signed_is_verified_also_from_the_page_alone(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    _, others = key(tmp_path, "eve")
    folder = leave(small(), tmp_path / "run", ada)
    for path in (folder, folder / "report.html", folder / "run.json"):
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
    assert "not of this statement" in broken(check(false / "run.json", signers))
    shutil.copy(honest / statement.NAME, false)
    assert "not of this record" in broken(check(false / "run.json", signers))
    assert check(false, signers).verdict == "verification failed"


def test_another_record_inside_a_signed_page_is_found(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    signed = (leave(large(), tmp_path / "run", ada) / "report.html").read_text()
    other = (leave(msgspec.structs.replace(large(), tool_version="9"), tmp_path / "other") / "report.html").read_text()
    start, end = '<script type="application/json" id="statement">', "</script>"
    kept = signed[signed.index(start) :]
    page = other[: other.index(start)] + kept[: kept.index(end)] + other[other.rindex(end) :]
    found = verify(VerificationInput(name="x", page=page), tool_sha256=TOOL_SHA256, signers=signers)
    assert found.verdict == "verification failed"
    assert "It is not of this record." in broken(found)


def test_a_record_of_a_run_without_statement_is_consistent(tmp_path: Path) -> None:
    files.write(small(), tmp_path)
    found = check(tmp_path)
    assert found.verdict == CONSISTENT
    assert "There is none" in says(found, "statement")
