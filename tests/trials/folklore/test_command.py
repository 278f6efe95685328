"""The published comparison both ways: two tables and their reasons from made-up windows, and a quick real run."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from suite.errors import LevelfieldError
from suite.trials.folklore import command, inside, show
from suite.trials.folklore.findings import rows
from suite.trials.folklore.forms import AS_PUBLISHED, BATCH, FAIRLY, FRAMEWORKS, path
from suite.trials.folklore.record import Folklore, Row, Said
from suite.trials.overhead.record import Generation, Interval, Round, Window
from suite.trials.record import read
from suite.worker.messages import Task
from suite.zoo import inputs, models, weights
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


def measured(launches: int, seed: int = 1) -> list[Generation]:
    """Windows with one per cent of noise."""
    rng = np.random.default_rng(seed)
    return [
        Generation(
            tuple(
                Round(
                    tuple(Window(arm, 1e6 * ms * float(np.exp(rng.normal(0, 0.01))), 5) for arm, ms in TIMES_MS.items())
                )
                for _ in range(3)
            )
        )
        for _ in range(launches)
    ]


EQUAL = tuple(Said(arm, True, 3e-7, "") for arm in TIMES_MS)
"""As if every form answered as the reference does."""


def table(launches: int = 6) -> dict[str, Row]:
    return {row.backend: row for row in rows(FRAMEWORKS, measured(launches), EQUAL)}


def record(launches: int = 6) -> Folklore:
    generations = measured(launches)
    unlike = (
        Said("jax, as published", None, None, "it makes weights of its own in the call, so it answers for no model"),
        Said("openvino, as published", False, 4e-3, "relative error 4.0e-03 is over 1e-05"),
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


def test_the_published_figures_and_the_forms_between() -> None:
    stated = {framework.title: framework.published_ms for framework in FRAMEWORKS}
    assert stated == {"PyTorch": 1.26, "TensorFlow": 6.61, "JAX": 3.15, "ONNX Runtime": 14.75, "OpenVINO": 144.84}
    for framework in FRAMEWORKS:
        way = path(framework)
        assert (way[0].name, way[-1].name) == (AS_PUBLISHED, FAIRLY)
        assert all(form.mends for form in way[1:])
    assert {form.arm for framework in FRAMEWORKS for form in framework.forms} == set(TIMES_MS)


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


def test_a_slower_step_is_told_as_slower() -> None:
    (waited,) = [each for each in table()["jax"].mended if each.mends == "the result is waited for"]
    assert waited.factor.value == pytest.approx(3.0 / 3.3, rel=0.03)


def test_two_launches_rank_nothing_and_say_why() -> None:
    found = table(2)
    assert all(row.published.rank is None and not row.flips and not row.reason for row in found.values())
    assert all(row.factor == Interval(row.factor.value, None, None) for row in found.values())
    text = show.markdown(record(2))
    assert "2 launches gave a result; ranking needs at least 5." in text
    assert "is 1 fairly" not in text


def test_nothing_measured_is_no_table() -> None:
    assert rows(FRAMEWORKS, [], EQUAL) == ()
    assert command.exit_code(msgspec.structs.replace(record(), rows=())) == 2
    assert command.exit_code(msgspec.structs.replace(record(), failures={"jax": "it died"})) == 2
    assert command.exit_code(record()) == 0


def test_the_markdown_has_both_tables_side_by_side() -> None:
    text = show.markdown(record())
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
    assert file.with_suffix(".md").read_text() == show.markdown(record())


def test_the_committed_table_is_what_its_record_gives() -> None:
    for file in sorted((ROOT / "reports" / "trials").glob("folklore-*.json")):
        found = read(file, Folklore)
        anew = command.analysed(found)
        assert file.with_suffix(".md").read_text() == show.markdown(anew) == show.markdown(found)
        for row in found.rows:
            equal = {said.arm for said in found.said if said.equal}
            assert all(each.rank is None or each.arm in equal for each in (row.published, row.fairly))


def test_a_record_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "folklore.json"
    file.write_bytes(msgspec.json.encode(record()))
    assert read(file, Folklore) == record()
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(record(), schema=2)))
    with pytest.raises(LevelfieldError, match="schema 2"):
        read(file, Folklore)


def test_a_window_makes_the_calls_it_is_asked_for() -> None:
    calls: list[int] = []
    ask = inside.Ask("as published", window_ns=0, min_calls=4, rewarm_ns=0)
    samples = inside.window(lambda x: calls.append(len(x)), np.zeros((7, 200), np.float32), ask)
    assert len(samples) == 4
    assert calls == [7] * 5  # one of them to warm up


def test_the_polls_of_the_published_loop_are_inside_the_call() -> None:
    calls: list[int] = []
    inside.polled(lambda x: calls.append(len(x)))(np.zeros((3, 200), np.float32))
    assert calls == [3]


@pytest.mark.framework
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_the_published_forms_compute_the_model_where_they_have_its_weights(backend: str) -> None:
    pytest.importorskip(backend)
    model = models.get("mlp")
    task = Task(backend=backend, model="mlp", batch=8, threads=1)
    made = inside.PUBLISHED[backend](inside.Given(task, ()), weights.make(model))
    x = np.ascontiguousarray(inputs.make(model, 0, 8)["features"], np.float32)
    answers = {name: form.output(x) for name, form in made.items()}
    wanted = {form.name for form in next(each for each in FRAMEWORKS if each.backend == backend).forms} - {FAIRLY}
    assert set(made) == wanted
    known = [np.asarray(answer) for answer in answers.values() if answer is not None]
    assert len(known) == (1 if backend == "jax" else len(wanted))
    for answer in known:
        np.testing.assert_allclose(answer, known[0], rtol=1e-5)
    for form in made.values():
        form.call(x)


@pytest.mark.docker
@pytest.mark.slow
def test_the_quick_trial_runs_every_form_in_its_image(tmp_path: Path) -> None:
    out = tmp_path / "folklore.json"
    done = subprocess.run(
        [sys.executable, "-m", "suite.trials.folklore", "--quick", "--seed", "7", "--out", str(out)],
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
