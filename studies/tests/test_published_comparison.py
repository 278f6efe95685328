"""The published comparison both ways: two tables and their reasons from made-up windows, and a quick real run."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from studies.commands import read
from studies.harness.findings import Generation, Interval, Round, Window
from studies.published_comparison import command
from studies.published_comparison.findings import markdown, rows
from studies.published_comparison.record import (
    AS_PUBLISHED,
    BATCH,
    FAIRLY,
    FRAMEWORKS,
    AnswerCheck,
    Folklore,
    Row,
    path,
)
from tests.commands import ROOT
from tests.records_builder import make_machine

TIMES_MS = {
    "torch, as published": 1.2,
    "torch, without gradients": 1.0,
    "torch, fairly": 0.5,
    "tensorflow, as published": 2.0,
    "tensorflow, fairly": 0.65,
    "tensorflow, with predict": 30.0,
    "jax, as published": 3.0,
    "jax, waited for": 3.3,
    "jax, weights made before": 1.1,
    "jax, fairly": 0.47,
    "onnxruntime, as published": 14.0,
    "onnxruntime, fairly": 0.3,
    "openvino, as published": 140.0,
    "openvino, one request": 20.0,
    "openvino, fairly": 0.2,
}


def measured(launches: int, times_ms: dict[str, float] = TIMES_MS) -> list[Generation]:
    """Windows with one per cent of noise."""
    rng = np.random.default_rng(1)

    def one() -> Round:
        return Round(
            tuple(Window(arm, 1e6 * ms * float(np.exp(rng.normal(0, 0.01))), 5) for arm, ms in times_ms.items())
        )

    return [Generation((one(), one(), one())) for _ in range(launches)]


EQUAL = tuple(AnswerCheck(arm, True, 3e-7, "") for arm in TIMES_MS)
"""As if every form answered as the reference does."""


def record(launches: int = 6) -> Folklore:
    generations = measured(launches)
    own = "it makes weights of its own in the call, so it answers for no model"
    unlike = (
        AnswerCheck("jax, as published", None, None, own),
        AnswerCheck("openvino, as published", False, 4e-3, "relative error 4.0e-03 is over 1e-05"),
    )
    said = tuple({each.arm: each for each in (*EQUAL, *unlike)}.values())
    return Folklore(
        schema=Folklore.SCHEMA,
        started="2026-11-21T10:00:00Z",
        finished="2026-11-21T10:05:00Z",
        tool_version="0",
        seed=1,
        batch=BATCH,
        threads=2,
        cpus=(0, 1),
        settings={},
        machine=make_machine(),
        images=(),
        artifacts=(),
        load_before=(0.0, 0.0, 0.0),
        load_after=(0.0, 0.0, 0.0),
        forms=tuple(form for framework in FRAMEWORKS for form in framework.forms),
        said=said,
        generations=tuple(generations),
        rows=rows(FRAMEWORKS, generations, said),
    )


def table(launches: int = 6, times_ms: dict[str, float] = TIMES_MS) -> dict[str, Row]:
    return {row.backend: row for row in rows(FRAMEWORKS, measured(launches, times_ms), EQUAL)}


def test_both_tables_are_ranked_by_what_was_measured() -> None:
    found = table()
    assert [row.published.rank for row in found.values()] == [1, 2, 3, 4, 5]
    assert [row.fairly.rank for row in found.values()] == [4, 5, 3, 2, 1]
    assert {name for name, row in found.items() if row.flips} == {"torch", "tensorflow", "onnxruntime", "openvino"}
    factor = found["openvino"].factor
    assert factor.value == pytest.approx(700, rel=0.03)
    assert factor.low is not None
    assert factor.high is not None
    assert factor.low < 700 < factor.high
    (waited,) = [each for each in found["jax"].mended if each.mends == "the result is waited for"]
    assert waited.factor.value == pytest.approx(3.0 / 3.3, rel=0.03), "a slower step is reported as slower"


def test_every_flip_has_its_reason_with_what_it_rests_on() -> None:
    found = table()
    assert all(bool(row.reason) is row.flips for row in found.values())
    openvino, torch = found["openvino"].reason, found["torch"].reason
    assert openvino.index("instead of a thousand") < openvino.index("instead of a new one a sample"), "largest first"
    assert "It overtakes PyTorch, TensorFlow, JAX and ONNX Runtime." in openvino
    assert "no gradients are recorded (1.2" in torch
    assert "ONNX Runtime and OpenVINO, no longer held back, overtake it." in torch
    hardly = table(6, TIMES_MS | {"torch, as published": 0.55, "torch, without gradients": 0.54})["torch"].reason
    assert hardly.startswith("Its own time hardly changes (1.")


def test_two_launches_or_none_rank_nothing_and_say_why() -> None:
    found = table(2)
    assert all(row.published.rank is None and not row.flips and not row.reason for row in found.values())
    assert all(row.factor == Interval(row.factor.value, None, None) for row in found.values())
    assert "2 launches gave a result; ranking needs at least 5." in markdown(record(2))
    assert rows(FRAMEWORKS, [], EQUAL) == ()
    codes = {"rows": (), "failures": {"jax": "it died"}}
    assert [command.exit_code(msgspec.structs.replace(record(), **{name: codes[name]})) for name in codes] == [2, 2]
    assert command.exit_code(record()) == 0


def test_what_is_not_shown_to_be_equal_has_no_rank_and_counts_in_none() -> None:
    found = {row.backend: row for row in record().rows}
    assert [row.published.rank for row in found.values()] == [1, 2, None, 3, None]
    assert [row.fairly.rank for row in found.values()] == [4, 5, 3, 2, 1]
    assert not found["openvino"].flips
    silent = rows(FRAMEWORKS, measured(6), ())
    assert all(row.published.rank is None and row.fairly.rank is None for row in silent)
    assert {row.fairly.unranked for row in silent} == {"Its answer was not compared with the reference."}


def test_the_published_figures_and_the_forms_between() -> None:
    assert [framework.published_ms for framework in FRAMEWORKS] == [1.26, 6.61, 3.15, 14.75, 144.84]
    for way in map(path, FRAMEWORKS):
        assert (way[0].name, way[-1].name) == (AS_PUBLISHED, FAIRLY)
        assert all(form.mends for form in way[1:])
    assert {form.arm for framework in FRAMEWORKS for form in framework.forms} == set(TIMES_MS)


def test_the_markdown_has_both_tables_and_reasons() -> None:
    text = markdown(record())
    assert "| OpenVINO | 144.84 | 14" in text
    assert "- OpenVINO, without a rank as published, is 1 fairly. 7" in text
    assert "- OpenVINO as published: no rank. It does not equal the reference: relative error 4.0e-03 is over" in text
    assert "- JAX as published: no rank. Its answer cannot be compared: it makes weights of its own in the call" in text
    assert all(line.count("|") in (0, 6, 8) for line in text.splitlines())


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
