"""What a stranger's report may not choose: where its workers run, and what is run without being shown."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.plan import make
from suite.record import files
from suite.record.schema import Arm, Run
from suite.run import bench
from suite.run.options import Options
from suite.run.reproduce import intent
from suite.run.reproduce.announcement import announced
from tests.commands import one_clear_sentence
from tests.commands import run as run_command
from tests.records_builder import make_run
from tests.run.reproduce.records import known, record


def asks(run: Run, **settings: Any) -> Run:
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, **settings))


def injected(run: Run, amount: str) -> Run:
    block = run.blocks[0]
    slowed = msgspec.structs.replace(block.arms[0], inject=amount)
    return msgspec.structs.replace(
        run, blocks=(msgspec.structs.replace(block, arms=(slowed, *block.arms[1:])), *run.blocks[1:])
    )


def says(run: Run, launcher: str = "docker") -> str:
    wanted = intent.read(run)
    return "\n".join(announced(run, make(wanted.selection, available=[0, 1]), wanted, launcher))


@pytest.mark.parametrize("theirs", ["docker", "venv", "host"])
@pytest.mark.parametrize(("typed", "used"), [((), "docker"), (("--launcher", "venv"), "venv")])
def test_workers_run_in_containers_unless_the_user_says_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str, typed: tuple[str, ...], used: str
) -> None:
    from click.testing import CliRunner

    from suite.cli.reproduce import reproduce

    asked: list[Options] = []

    def conduct(chosen: object, options: Options, console: object) -> Path:
        asked.append(options)
        raise LevelfieldError("Enough is known.")

    monkeypatch.setattr(bench, "conduct", conduct)
    files.write(asks(known(record("theirs")), launcher=theirs), tmp_path)
    done = CliRunner().invoke(reproduce, [str(tmp_path), *typed])
    assert isinstance(done.exception, LevelfieldError)
    assert done.exception.message == "Enough is known.", done.output
    assert [each.launcher for each in asked] == [used]
    assert asked[0].selection.locked


def test_an_image_that_the_report_does_not_name_is_foreign() -> None:
    run = known(record("theirs"))
    bare = msgspec.structs.replace(run, images=())
    chosen = make(intent.read(bare).selection, available=[0, 1])
    found = intent.foreign(bare, chosen)
    assert [each.image for each in found] == ["jax cpu", "onnxruntime cpu", "openvino cpu", "canary cpu"]
    one_less = msgspec.structs.replace(run, images=tuple(each for each in run.images if each.name != "jax"))
    assert [each.image for each in intent.foreign(one_less, chosen)] == ["jax cpu"]


def test_an_empty_list_of_images_does_not_open_the_gate(tmp_path: Path) -> None:
    files.write(msgspec.structs.replace(known(record("theirs")), images=()), tmp_path)
    command = run_command("reproduce", tmp_path, "--reports", tmp_path / "mine", folder=tmp_path)
    one_clear_sentence(command, "4 images would not be, or cannot be shown to be", "--trust")
    assert not (tmp_path / "mine").exists()


def test_a_launcher_in_an_arms_name_ends_it() -> None:
    run = asks(known(record("theirs")), backends=("onnxruntime+launcher=host",))
    with pytest.raises(LevelfieldError, match="names a launcher"):
        make(intent.read(run).selection, available=[0, 1])


def test_everything_it_asks_for_is_said() -> None:
    run = asks(
        injected(known(record("theirs", control="jax")), "5%"),
        launcher="host", budget_seconds=5400.0, precision_target=0.01, target=0.9, margin=0.05, threads=1,
    )  # fmt: skip
    output = says(run)
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
        assert line in output
    assert "workers run in: virtual environments, with this machine's network" in says(run, "venv")
    assert "time budget: none" in says(asks(run, budget_seconds=None))


def test_it_is_said_before_the_gate_closes(tmp_path: Path) -> None:
    files.write(injected(make_run(models=["mlp"], backends=["jax"], rounds=1, max_calls=3), "20%"), tmp_path)
    command = run_command("reproduce", tmp_path, folder=tmp_path)
    assert command.code == 2
    assert "slowed down on purpose: jax by 20%" in command.out
    assert "time budget: 10 min" in command.out


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"budget_seconds": 1e300}, "a budget"),
        ({"budget_seconds": -1.0}, "a budget"),
        ({"precision_target": 0.0}, "a target"),
        ({"precision_target": 7.0}, "a target"),
        ({"target": -0.5}, "a target"),
    ],
)
def test_what_no_option_takes_is_refused(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(LevelfieldError, match=f"asks for {what}"):
        intent.read(asks(known(record("theirs")), **settings))


def test_the_users_own_budget_stands_before_the_reports() -> None:
    assert intent.read(known(record("theirs")), budget_seconds=60.0).budget_seconds == 60.0


def test_an_arm_that_only_the_results_name_brings_no_image() -> None:
    """What runs follows from the settings; an arm of the results has to be known all the same."""
    run = known(record("theirs"))
    block = msgspec.structs.replace(run.blocks[0], arms=(*run.blocks[0].arms, Arm(backend="own", image="evil")))
    with pytest.raises(LevelfieldError, match="There is no backend called 'own'"):
        intent.read(msgspec.structs.replace(run, blocks=(block, *run.blocks[1:])))


def test_images_that_are_not_there_end_a_dry_run_too(tmp_path: Path) -> None:
    files.write(known(record("theirs")), tmp_path)
    command = run_command("reproduce", tmp_path, "--dry-run", "--data", "nosuch", folder=tmp_path)
    one_clear_sentence(command, "There is no folder nosuch.")
