"""The published comparison both ways: two tables and their reasons from made-up windows, and a quick real run."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from studies.commands import read
from studies.published_comparison import command
from studies.published_comparison.findings import markdown, rows
from studies.published_comparison.record import FRAMEWORKS, Folklore
from studies.tests.published_comparison.records import EQUAL, TIMES_MS, record
from tests.commands import ROOT


def test_nothing_measured_is_no_table() -> None:
    assert rows(FRAMEWORKS, [], EQUAL) == ()
    assert command.exit_code(msgspec.structs.replace(record(), rows=())) == 2
    assert command.exit_code(msgspec.structs.replace(record(), failures={"jax": "it died"})) == 2
    assert command.exit_code(record()) == 0


def test_a_record_is_analysed_anew_without_measuring(tmp_path: Path) -> None:
    file = tmp_path / "folklore.json"
    old = tuple(
        msgspec.structs.replace(row, published=msgspec.structs.replace(row.published, rank=5, unranked=""))
        for row in record().rows
    )
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(record(), rows=old)))
    done = CliRunner().invoke(command.main, ["--analyse", str(file)])
    assert done.exit_code == 0, done.output
    assert msgspec.json.decode(file.read_bytes(), type=Folklore) == record()
    assert file.with_suffix(".md").read_text() == markdown(record())


def test_the_committed_table_is_what_its_record_gives() -> None:
    for file in sorted((ROOT / "reports" / "trials").glob("folklore-*.json")):
        found = read(file, Folklore)
        anew = command.analysed(found)
        assert file.with_suffix(".md").read_text() == markdown(anew) == markdown(found)
        for row in found.rows:
            equal = {said.arm for said in found.said if said.equal}
            assert all(each.rank is None or each.arm in equal for each in (row.published, row.fairly))


@pytest.mark.docker
@pytest.mark.extended
def test_the_quick_trial_runs_every_form_in_its_image(tmp_path: Path) -> None:
    out = tmp_path / "folklore.json"
    done = subprocess.run(
        [sys.executable, "-m", "studies.published_comparison.command", "--quick", "--seed", "7", "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = msgspec.json.decode(out.read_bytes(), type=Folklore)
    assert not found.failures
    assert {form.arm for form in found.forms} == set(TIMES_MS)
    assert len(found.generations) == 2
    orders = set()
    for each in found.generations:
        for one in each.rounds:
            assert {window.arm for window in one.windows} == set(TIMES_MS)
            assert all(10_000 < window.median_ns < 10_000_000_000 for window in one.windows)
            orders.add(tuple(window.arm for window in one.windows))
    assert len(orders) == 2
    said = {each.arm: each for each in found.said}
    assert all(said[f"{row.backend}, fairly"].equal for row in found.rows)
    assert said["jax, as published"].equal is None
    assert {said[f"{name}, as published"].equal for name in ("torch", "tensorflow", "onnxruntime")} == {True}
    by = {row.backend: row for row in found.rows}
    # A thousand calls take longer than one, on any machine and in any weather; of the others a busy one tells nothing.
    assert by["onnxruntime"].factor.value > 2
    assert by["openvino"].factor.value > 2
    text = out.with_suffix(".md").read_text()
    assert "| OpenVINO | 144.84 |" in text
    assert "ranking needs at least 5" in text
