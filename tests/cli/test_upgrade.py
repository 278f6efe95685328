"""`levelfield upgrade` as people type it, on journals that are there."""

from pathlib import Path

import msgspec
import pytest

from levelfield import plan
from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.plan import Plan, Selection
from levelfield.record import files
from levelfield.run.upgrade import store
from levelfield.run.upgrade.progress import Event, MeasurementDone
from tests import commands
from tests.commands import one_clear_sentence
from tests.compare.runs import run, with_machine
from tests.machine.fake_nvml import compile_library, environment
from tests.records_builder import kept
from tests.run.upgrade.journals import begun, events


def write(reports: Path, name: str, sides: str) -> None:
    """Write the journal of an upgrade with its records; onnxruntime is a quarter slower on the new side."""
    written: list[Event] = []
    for event in events(sides, begun(name=name)):
        if isinstance(event, MeasurementDone):
            number = int(event.run[9:15])
            new = sides[number - 1] == "n"
            made = run(event.run, number, slower={"onnxruntime": 1.25} if new else {}, noise_scale=0.1)
            made = with_machine(made, kernel={"release": "6.12" if new else "6.1"})
            file = kept(made, reports / event.run)
            written.append(msgspec.structs.replace(event, sha256=store.digest(file)))
        else:
            written.append(event)
    path = store.folder(name, reports) / files.JOURNAL
    first, *rest = written
    store._ALL.create(name, reports, first)
    with path.open("ab") as journal:
        journal.writelines(msgspec.json.encode(event) + b"\n" for event in rest)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("upgrade")
    write(folder / "reports", "up", "oooonnnnoooo")
    write(folder / "reports", "half", "o")
    write(folder / "reports", "edited", "o")
    path = store.folder("edited", folder / "reports") / files.JOURNAL
    path.write_bytes(path.read_bytes().replace(b'"launcher":null', b'"launcher":"venv"', 1))
    return folder


def test_status_ends_with_what_comes_next(place: Path) -> None:
    command = commands.call("upgrade", "status", "half", folder=place, code=0)
    assert "before: 1 of 2" in command.out
    assert command.out.splitlines()[-1] == "Next: reboot, 1 more boot on this side."
    assert "Done: levelfield upgrade verdict up" in commands.call("upgrade", "status", folder=place).out


def test_the_verdict_in_all_formats(place: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "txt")]
    words = [word for path in outputs for word in ("--output", path)]
    command = commands.call("upgrade", "verdict", "up", *words, folder=place, code=1)
    assert command.out.startswith("Not safe: of 2 cases, 1 slower, 1 safe within 2")
    assert all("Not safe: of 2 cases" in path.read_text(encoding="utf-8")[:3000] for path in outputs)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["next", "upp"], "There is no upgrade called 'upp'. Did you mean 'up'?"),
        (["verdict", "none"], "There is no upgrade called 'none'."),
        (["verdict", "half"], "has nothing to compare yet"),
        (["status", "a/b"], "An upgrade cannot be called 'a/b'"),
        (["next", "half", "--all"], "--all is for sides that are image sets"),
        (["next", "edited"], "The upgrade edited was not begun here, or was changed since"),
        (["next", "half"], "This is not the machine on which the upgrade half was begun"),
    ],
)
def test_what_is_refused_is_one_sentence(place: Path, words: list[str], says: str) -> None:
    one_clear_sentence(commands.call("upgrade", *words, folder=place), says)


def results(made: Plan) -> tuple[str, ...]:
    return tuple(f"{arm.id}/{block.case.id}" for block in made.blocks for arm in block.arms)


@pytest.mark.parametrize(("before", "variant"), [("570.124.06", "jax@cu12/"), (None, "onnxruntime/")])
def test_a_driver_that_allows_another_variant_changes_no_plan(tmp_path: Path, before: str | None, variant: str) -> None:
    there = environment(compile_library(tmp_path / "nvml", driver=before, cuda=12080)) if before else {}
    words = ("--models", "mlp", "--scenarios", "latency", "--launcher", "venv")
    commands.run("upgrade", "begin", "driver", *words, folder=tmp_path, environment=there, code=0)
    begun = store.load("driver", tmp_path / "reports").begun
    assert any(each.startswith(variant) for each in begun.plans[0].results)
    newer = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))
    assert results(plan.make(begun.selections[0], here=newer)) == begun.plans[0].results
    asked = Selection(variant="auto", models=("mlp",), scenarios=("latency",))
    assert results(plan.make(asked, here=newer)) != begun.plans[0].results


def test_begin_says_what_each_run_measures_and_what_it_can_find(tmp_path: Path) -> None:
    words = ("--models", "mlp", "--scenarios", "latency", "--launcher", "venv", "--variant", "cpu", "--budget", "4m")
    command = commands.call(
        "upgrade", "begin", "up", *words, "--backends", "onnxruntime", "--boots", "5", folder=tmp_path
    )
    assert command.code == 0, command.err
    launches, found, _ = command.out.splitlines()
    assert launches.startswith("Every boot aims at 10 launches of each arm or more within 4 min, and no control")
    assert found.startswith("5 boots a phase find, four times in five, a slowdown of 1.5")


@pytest.mark.parametrize("sides", ["a", "a,b,c"])
def test_sides_are_two(place: Path, sides: str) -> None:
    command = commands.call("upgrade", "begin", "x", "--sides", sides, folder=place, code=2)
    assert "--sides names two arms" in command.err
