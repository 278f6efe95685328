"""What is said of a run before it is run again: every setting that decides what this machine does."""

import pytest

from levelfield.plan import make
from levelfield.record.schema import Run
from levelfield.run.reproduce import intent
from levelfield.run.reproduce.announcement import announced
from tests.run.reproduce.records import asks, injected, known, record


def says(run: Run, launcher: str = "docker") -> str:
    wanted = intent.read(run)
    return "\n".join(announced(run, make(wanted.selection, available=[0, 1]), wanted, launcher))


def test_everything_it_asks_for_is_said() -> None:
    run = asks(
        injected(known(record("theirs", control="jax")), "5%"),
        launcher="host", budget_seconds=5400.0, precision_target=0.01, target=0.9, margin=0.05, threads=1,
    )  # fmt: skip
    told = says(run)
    for line in (
        "jax, onnxruntime, openvino on mlp",
        "1 threads",
        "workers run in: containers (the report's: host)",
        "precisions: fp32",
        "batches: mlp 1000",
        "twice, as a control: jax",
        "slowed down on purpose: jax by 5%",
        "launches of each arm: ",
        "time budget: 1 h 30 min",
        "goes on until every ratio is known to: ±1 %",
        "differences that count as none: 5 %",
        "accuracy to train to: 90 %",
    ):
        assert line in told
    assert "workers run in: virtual environments, with this machine's network" in says(run, "venv")
    assert "time budget: none" in says(asks(run, budget_seconds=None))


def test_what_a_record_does_not_ask_for_is_not_said() -> None:
    told = says(asks(known(record("theirs")), precision_target=None, target=None))
    for words in (
        "processes that train together",
        "twice, as a control",
        "slowed down on purpose",
        "goes on until",
        "accuracy to train to",
        "GPU",
        "author's own",
    ):
        assert words not in told


def test_the_first_line_names_the_run_and_its_maker() -> None:
    first, second, *_ = says(known(record("theirs"))).splitlines()
    assert first == "Run theirs, started 2026-11-21T10:15:00Z, measured by Levelfield 0.1.0."
    assert second.startswith("It will be run again: jax, onnxruntime, openvino on mlp, ")
    assert "profile standard" in second


@pytest.mark.parametrize("launcher", ["venv", "host"])
def test_workers_without_a_container_are_said_to_have_the_network_and_no_limit(launcher: str) -> None:
    (line,) = [line for line in says(known(record("theirs")), launcher).splitlines() if "workers run in" in line]
    assert "with this machine's network and without a limit of memory" in line
    assert line.endswith("(the report's: docker)")
    (line,) = [line for line in says(known(record("theirs"))).splitlines() if "workers run in" in line]
    assert line == "  workers run in: containers"
