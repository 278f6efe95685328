"""An `ab` that was cut off goes on with the batches of its record, whatever is typed."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from levelfield.compare.types import Gate
from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.plan import Plan, Selection, pair
from levelfield.run import bench
from levelfield.run.ab import choose_launchers, fits, measure
from levelfield.run.options import Options
from tests.records_builder import make_run


class _ReachedError(Exception):
    """The plan was made."""


def test_one_item_at_a_time_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(models=("bert",), backends=("jax", "torch"), scenarios=("throughput",), labels=("ab",))
    (block,) = run.blocks
    block = msgspec.structs.replace(block, case=msgspec.structs.replace(block.case, batch=1))
    settings = msgspec.structs.replace(run.settings, batches={"bert": (1,)})
    run = msgspec.structs.replace(run, blocks=(block,), settings=settings)
    plans: list[Plan] = []

    def conduct(chosen: Plan, *_: Any, **__: Any) -> Path:
        plans.append(chosen)
        raise _ReachedError

    monkeypatch.setattr(bench, "find", lambda *_: (Path("nowhere"), run))
    monkeypatch.setattr(bench, "conduct", conduct)
    selection = Selection(models=("bert",), scenarios=("throughput",), batches=(1,))
    options = Options(selection=selection, reports=Path("nowhere"), resume=run.id)
    with pytest.raises(_ReachedError):
        measure("jax", "torch", options, Gate(), Console(quiet=True))
    assert [each.case.id for each in plans[0].blocks] == [block.case.id]


def test_a_run_keeps_the_gate_that_it_was_begun_with(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), labels=("ab",))
    run = msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, max_slowdown=0.05))
    gates: list[Gate] = []

    def conduct(*_: Any, undecided: Any, **__: Any) -> Path:
        gates.append(undecided.keywords["gate"])
        raise _ReachedError

    monkeypatch.setattr(bench, "find", lambda *_: (Path("nowhere"), run))
    monkeypatch.setattr(bench, "conduct", conduct)
    options = Options(selection=Selection(models=("mlp",), scenarios=("latency",)), resume=run.id)
    for asked in (Gate(), Gate(max_slowdown=0.05), Gate(margin=0.1)):
        with pytest.raises(_ReachedError):
            measure("jax", "torch", options, asked, Console(quiet=True))
    assert gates == [Gate(max_slowdown=0.05)] * 3
    with pytest.raises(LevelfieldError, match=r"was begun with --max-slowdown 5%, by which"):
        measure("jax", "torch", options, Gate(max_slowdown=0.03), Console(quiet=True))
    other = msgspec.structs.replace(options, command=("levelfield", "ab", "jax", "torch", "--margin", "10%"))
    with pytest.raises(LevelfieldError, match="--margin asks for something else than what the run"):
        measure("jax", "torch", other, Gate(margin=0.1), Console(quiet=True))
    monkeypatch.setattr(bench, "find", lambda *_: (Path("nowhere"), msgspec.structs.replace(run, id="a;sh")))
    with pytest.raises(LevelfieldError, match="holds jax against torch") as caught:
        measure("jax", "openvino", options, Gate(), Console(quiet=True))
    assert "`levelfield ab jax torch --resume 'a;sh'`" in caught.value.fix


BARE = ("onnxruntime+launcher=venv", "onnxruntime+launcher=host")
HERE = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))


def options(launcher: str | None = None, **selection: Any) -> Options:
    return Options(selection=Selection(**selection), reports=Path("reports"), launcher=launcher)


def everything(module: str) -> bool:
    del module
    return True


def test_both_arms_are_written_with_their_launcher() -> None:
    first, second, asked = choose_launchers("onnxruntime@1.30.0#2", BARE[1], options("venv"), there=everything)
    assert (first, second) == ("onnxruntime@1.30.0+launcher=venv#2", BARE[1])
    assert asked.launcher == "venv"
    assert asked.selection.locked


def test_no_other_launcher_takes_the_place_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody/is/here.sock")
    with pytest.raises(LevelfieldError, match=r"to run in containers\. No container engine answers") as caught:
        choose_launchers("onnxruntime", BARE[0], options())
    assert "levelfield doctor" in caught.value.fix
    assert "--launcher" not in caught.value.fix, "both arms would live in the same place"


@pytest.mark.parametrize(
    ("arm", "says", "fix"),
    [
        ("jax+launcher=host", "which has no jax.", "Install it here, or choose +launcher=venv"),
        ("onnxruntime@1.30.0+launcher=host", "and no versions", "Leave @1.30.0 out"),
    ],
)
def test_what_the_interpreter_lacks_is_said_before_the_run(arm: str, says: str, fix: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        choose_launchers("jax", arm, options("venv"), there=lambda _: False)
    assert says in caught.value.message
    assert fix in caught.value.fix


def test_a_gpu_needs_locks_on_both_sides() -> None:
    selection = Selection(profile="smoke", models=("mlp",), gpu="0", variant="auto")
    made = pair(selection, "torch+launcher=docker", "torch+launcher=venv", available=[0], here=HERE)
    assert fits(made) is made
    made = pair(selection, "torch+launcher=docker", "torch+launcher=host", available=[0], here=HERE)
    with pytest.raises(LevelfieldError, match="own CUDA"):
        fits(made)
