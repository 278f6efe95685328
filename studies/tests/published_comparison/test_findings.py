"""Two tables and their reasons from made-up windows."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from studies.commands import read
from studies.harness.findings import Generation, Interval, Round, Window
from studies.published_comparison.findings import markdown, rows
from studies.published_comparison.record import AS_PUBLISHED, FAIRLY, FRAMEWORKS, Folklore, Row, path
from studies.tests.published_comparison.records import EQUAL, TIMES_MS, measured, record


def table(launches: int = 6) -> dict[str, Row]:
    return {row.backend: row for row in rows(FRAMEWORKS, measured(launches), EQUAL)}


def test_both_tables_are_ranked_by_what_was_measured() -> None:
    found = table()
    assert [found[name].published.rank for name in ("torch", "tensorflow", "jax", "onnxruntime", "openvino")] == [
        1, 2, 3, 4, 5,
    ]  # fmt: skip
    assert [found[name].fairly.rank for name in ("openvino", "onnxruntime", "jax", "torch", "tensorflow")] == [
        1, 2, 3, 4, 5,
    ]  # fmt: skip
    assert {name for name, row in found.items() if row.flips} == {"torch", "tensorflow", "onnxruntime", "openvino"}
    openvino = found["openvino"]
    assert openvino.factor.value == pytest.approx(700, rel=0.03)
    assert openvino.factor.low is not None
    assert openvino.factor.high is not None
    assert openvino.factor.low < 700 < openvino.factor.high
    assert openvino.published.ns.value == pytest.approx(140e6, rel=0.02)


def test_every_flip_has_its_reason_with_what_it_rests_on() -> None:
    found = table()
    assert all(bool(row.reason) is row.flips for row in found.values())
    openvino = found["openvino"].reason
    assert "one call for the batch instead of a thousand, in float32 (" in openvino
    assert openvino.index("instead of a thousand") < openvino.index("instead of a new one a sample"), "largest first"
    assert "It overtakes PyTorch, TensorFlow, JAX and ONNX Runtime." in openvino
    torch = found["torch"].reason
    assert "no gradients are recorded (1.2" in torch
    assert "JAX, ONNX Runtime and OpenVINO, no longer held back, overtake it." in _lower(torch)


def _lower(text: str) -> str:
    return text.replace("Jax", "JAX")


def test_an_own_time_that_hardly_changes_is_said_to() -> None:
    times = TIMES_MS | {"torch, as published": 0.55, "torch, without gradients": 0.54}
    rng = np.random.default_rng(3)
    generations = [
        Generation(
            (Round(tuple(Window(arm, 1e6 * ms * float(np.exp(rng.normal(0, 0.01))), 5) for arm, ms in times.items())),)
        )
        for _ in range(6)
    ]
    (torch,) = [row for row in rows(FRAMEWORKS, generations, EQUAL) if row.backend == "torch"]
    assert torch.reason.startswith("Its own time hardly changes (1.09 times (")


def test_a_slower_step_is_reported_as_slower() -> None:
    (waited,) = [each for each in table()["jax"].mended if each.mends == "the result is waited for"]
    assert waited.factor.value == pytest.approx(3.0 / 3.3, rel=0.03)


def test_two_launches_rank_nothing_and_say_why() -> None:
    found = table(2)
    assert all(row.published.rank is None and not row.flips and not row.reason for row in found.values())
    assert all(row.factor == Interval(row.factor.value, None, None) for row in found.values())
    text = markdown(record(2))
    assert "2 launches gave a result; ranking needs at least 5." in text
    assert "is 1 fairly" not in text


def test_what_is_not_shown_to_be_equal_has_no_rank_and_counts_in_none() -> None:
    found = {row.backend: row for row in record().rows}
    ranks = {name: row.published.rank for name, row in found.items()}
    assert ranks == {"torch": 1, "tensorflow": 2, "jax": None, "onnxruntime": 3, "openvino": None}
    assert [row.fairly.rank for row in found.values()] == [4, 5, 3, 2, 1]
    assert not found["openvino"].flips
    assert found["openvino"].reason.startswith("70"), "what a fair run changes is told all the same"
    silent = {row.backend: row for row in rows(FRAMEWORKS, measured(6), ())}
    assert all(row.published.rank is None and row.fairly.rank is None for row in silent.values())
    assert {row.fairly.unranked for row in silent.values()} == {"Its answer was not compared with the reference."}


def test_the_published_figures_and_the_forms_between() -> None:
    stated = {framework.title: framework.published_ms for framework in FRAMEWORKS}
    assert stated == {"PyTorch": 1.26, "TensorFlow": 6.61, "JAX": 3.15, "ONNX Runtime": 14.75, "OpenVINO": 144.84}
    for framework in FRAMEWORKS:
        way = path(framework)
        assert (way[0].name, way[-1].name) == (AS_PUBLISHED, FAIRLY)
        assert all(form.mends for form in way[1:])
    assert {form.arm for framework in FRAMEWORKS for form in framework.forms} == set(TIMES_MS)


def test_a_record_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "folklore.json"
    file.write_bytes(msgspec.json.encode(record()))
    assert read(file, Folklore) == record()
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(record(), schema=2)))
    with pytest.raises(LevelfieldError, match="schema 2"):
        read(file, Folklore)


def test_the_markdown_has_both_tables_side_by_side() -> None:
    text = markdown(record())
    lines = text.splitlines()
    head = lines.index("| framework | stated, ms | as published | rank | fairly | rank | as published ÷ fairly |")
    assert [line.split(" | ")[0] for line in lines[head + 2 : head + 7]] == [
        "| PyTorch", "| TensorFlow", "| JAX", "| ONNX Runtime", "| OpenVINO",
    ]  # fmt: skip
    assert "| OpenVINO | 144.84 | 14" in text
    assert "- OpenVINO, without a rank as published, is 1 fairly. 7" in text
    assert "- OpenVINO as published: no rank. It does not equal the reference: relative error 4.0e-03 is over" in text
    assert "- JAX as published: no rank. Its answer cannot be compared: it makes weights of its own in the call" in text
    assert "0 of 18 rounds were disturbed from outside." in text
    assert all(line.count("|") in (0, 6, 8) for line in lines)
