"""`ab --cross`: from records whose truth is known to findings, and a real run."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from suite.compare.types import Gate
from suite.plan.crossing import cross
from suite.record import files
from suite.record.schema import Run
from suite.report import rerun
from suite.run.cross import NAME, Crossed, exit_code, result, sentence, undecided
from tests.commands import run as command
from tests.records_builder import BACKENDS, LEVELS_MS, make_run

CELLS = ("onnxruntime", "openvino", "torch", "jax")
"""Stand for the combinations 00, 01, 10 and 11 in records that were made."""
AXES, ARMS = cross("onnxruntime@1.29.0", ["onnxruntime@1.30.0", "onnxruntime@1.29.0+spinning=off"])


def crossed(costs: Sequence[float], *, generations: int = 12, noise_scale: float = 0.1, unequal: str = "") -> Run:
    """Make a record in which the combinations cost so many times the same."""
    of = LEVELS_MS["resnet50", 1]
    slower = {cell: cost / of[BACKENDS.index(cell)] for cell, cost in zip(CELLS, costs, strict=True)}
    return make_run(
        backends=CELLS, models=("resnet50",), scenarios=("latency",), generations=generations, slower=slower,
        noise_scale=noise_scale, unequal=[(unequal, "resnet50")] if unequal else (),
    )  # fmt: skip


def findings(run: Run) -> list[str]:
    return [effect.finding for effect in result(run, AXES, Gate()).effects]


@pytest.mark.parametrize(
    ("costs", "expected", "code"),
    [
        ((1, 1, 1, 1), ["same", "same", "same"], 0),
        ((1, 1, 1.1, 1.1), ["slower", "same", "same"], 1),
        ((1.1, 1.1, 1, 1), ["faster", "same", "same"], 0),
        ((1.1, 1, 1, 1.1), ["same", "same", "larger together"], 1),
        ((1, 1.1, 1.1, 1), ["same", "same", "smaller together"], 0),
    ],
)
def test_findings_are_those_of_the_truth(costs: Sequence[float], expected: list[str], code: int) -> None:
    run = crossed(costs)
    assert findings(run) == expected
    assert exit_code(result(run, AXES, Gate())) == code
    assert not undecided(run, AXES, Gate())


def test_what_is_open_is_named_with_its_interval() -> None:
    few, noisy = crossed((1, 1, 1, 1), generations=2), crossed((1, 1, 1, 1), generations=5, noise_scale=10)
    (case,) = undecided(few, AXES, Gate())
    assert undecided(few, AXES, Gate())[case] == "too few launches of all"
    assert re.search(r"@1\.30\.0: \d\.\d+ \(", undecided(noisy, AXES, Gate())[case])
    assert exit_code(result(noisy, AXES, Gate())) == 3


def test_a_case_with_another_answer_has_no_effects_and_is_not_waited_for() -> None:
    run = crossed((1, 1, 1, 1), unequal="torch")
    found = result(run, AXES, Gate())
    assert not found.effects
    assert found.unequal
    assert not undecided(run, AXES, Gate())
    assert exit_code(found) == 1


def test_the_sentence_says_what_each_change_does() -> None:
    found = result(crossed((1, 1, 1.1, 1.1)), AXES, Gate())
    said = sentence(found, found.effects[0].case)
    assert "@1.30.0 makes it slower (1.1" in said
    assert "spinning=off makes no difference beyond ±2.0" in said
    assert "@1.30.0 and spinning=off do not interact" in said
    together = result(crossed((1.1, 1, 1, 1.1)), AXES, Gate())
    assert "average over the others" in sentence(together, together.effects[0].case)


def test_the_command_of_a_report_names_the_changes() -> None:
    run = crossed((1, 1, 1, 1))
    block = msgspec.structs.replace(run.blocks[0], arms=ARMS, generations=())
    again = rerun.command(msgspec.structs.replace(run, blocks=(block,), labels=("cross",)))
    assert again.startswith(
        "levelfield ab onnxruntime@1.29.0 onnxruntime@1.30.0 --cross onnxruntime@1.29.0+spinning=off --profile"
    )


@pytest.mark.docker
def test_a_real_run_finds_the_change_that_matters(tmp_path: Path) -> None:
    found = command(
        "ab", "onnxruntime", "onnxruntime+graph=off", "--cross", "onnxruntime+spinning=off", "--models", "mlp",
        "--scenarios", "latency", "--budget", "40s", "--reports", str(tmp_path), folder=tmp_path,
    )  # fmt: skip
    assert found.code in {1, 3}, found.out + found.err
    (folder,) = (path.parent for path in tmp_path.glob("*/run.json"))
    written = msgspec.json.decode((folder / NAME).read_bytes(), type=Crossed)
    assert written.changes == ("graph=off", "spinning=off")
    assert [effect.changes for effect in written.effects] == [("graph=off",), ("spinning=off",), written.changes]
    assert "graph=off" in found.out
    assert files.read(folder).labels == ("cross",)


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    found = command("ab", "onnxruntime", "onnxruntime+graph=off", "--cross", "onnxruntime+spinning=off", "--why",
                    folder=tmp_path)  # fmt: skip
    assert found.code == 2
    assert "--cross cannot be combined with" in found.err
