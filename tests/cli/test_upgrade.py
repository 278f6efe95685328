"""`levelfield upgrade` as people type it, on journals that are there."""

from pathlib import Path

import msgspec
import pytest

from suite import plan
from suite.compatibility.devices import Gpu, Nvidia
from suite.plan import Plan, Selection
from suite.record import files
from suite.upgrade import records, store
from suite.upgrade.events import Event, MeasurementDone
from tests import commands
from tests.commands import one_clear_sentence
from tests.compare.runs import run, with_machine
from tests.machine.fake_nvml import compile_library, environment
from tests.upgrade.journals import begun, events


def write(reports: Path, name: str, sides: str) -> None:
    """Write the journal of an upgrade with its records; onnxruntime is a quarter slower on the new side."""
    written: list[Event] = []
    for event in events(sides, begun(name=name)):
        if isinstance(event, MeasurementDone):
            number = int(event.run.removeprefix("run-"))
            new = sides[number - 1] == "n"
            made = run(event.run, number, slower={"onnxruntime": 1.25} if new else {}, noise_scale=0.1)
            made = with_machine(made, kernel={"release": "6.12" if new else "6.1"})
            (reports / event.run).mkdir(parents=True, exist_ok=True)
            file = files.write(made, reports / event.run)
            written.append(msgspec.structs.replace(event, sha256=records.digest(file)))
        else:
            written.append(event)
    path = store.folder(name, reports) / files.JOURNAL
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in written))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("upgrade")
    write(folder / "reports", "up", "oooonnnnoooo")
    write(folder / "reports", "half", "o")
    return folder


def test_status_ends_with_what_comes_next(place: Path) -> None:
    command = commands.call("upgrade", "status", "half", folder=place)
    assert command.code == 0, command.err
    assert "before: 1 of 2" in command.out
    assert command.out.splitlines()[-1] == "Next: reboot, 1 more boot on this side."
    assert "Done: levelfield upgrade verdict up" in commands.call("upgrade", "status", folder=place).out


def test_the_verdict_in_all_formats(place: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "txt")]
    words = [word for path in outputs for word in ("--output", path)]
    command = commands.call("upgrade", "verdict", "up", *words, folder=place)
    assert command.code == 1, command.err
    assert command.out.startswith("Not safe: of 2 cases, 1 slower, 1 safe within 2")
    assert all("Not safe: of 2 cases" in path.read_text(encoding="utf-8")[:3000] for path in outputs)


def test_the_unit_and_the_line_of_cron(place: Path) -> None:
    unit = commands.call("upgrade", "unit", "up", folder=place)
    assert '"upgrade" "next" "up" "--reports"' in unit.out
    assert str(place) in unit.out
    assert commands.call("upgrade", "unit", "up", "--cron", folder=place).out.startswith("@reboot ")
    written = commands.call("upgrade", "unit", "up", "--output", "up.service", folder=place)
    assert (place / "up.service").read_text(encoding="utf-8") == unit.out
    assert "systemctl enable" in written.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["next", "upp"], "There is no upgrade called 'upp'. Did you mean 'up'?"),
        (["verdict", "none"], "There is no upgrade called 'none'."),
        (["verdict", "half"], "has nothing to compare yet"),
        (["unit", "a/b"], "An upgrade cannot be called 'a/b'"),
        (["next", "half", "--all"], "--all is for sides that are image sets"),
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
    command = commands.run("upgrade", "begin", "driver", *words, folder=tmp_path, environment=there)
    assert command.code == 0, command.err
    begun = store.load("driver", tmp_path / "reports").begun
    assert any(each.startswith(variant) for each in begun.plans[0].results)
    newer = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))
    assert results(plan.make(begun.selections[0], here=newer)) == begun.plans[0].results
    asked = Selection(variant="auto", models=("mlp",), scenarios=("latency",))
    assert results(plan.make(asked, here=newer)) != begun.plans[0].results


@pytest.mark.parametrize(
    ("cross", "says"),
    [
        ("onnxruntime,onnxruntime", "are the same arm: onnxruntime."),
        ("onnxruntime,nothing", "There is no backend called 'nothing'"),
        ("onnxruntime,onnxruntime+launcher=venv", "names a launcher"),
    ],
)
def test_arms_that_cannot_be_crossed_are_refused_in_one_sentence(place: Path, cross: str, says: str) -> None:
    words = ("begin", "x", "--cross", cross, "--launcher", "venv", "--variant", "cpu")
    one_clear_sentence(commands.call("upgrade", *words, folder=place), says)
    assert not store.folder("x", place / "reports").exists()


@pytest.mark.parametrize("further", [(), ("--backends", "jax"), ("--sides", "a,b")])
def test_crossed_arms_are_two_and_take_the_place_of_backends(place: Path, further: tuple[str, ...]) -> None:
    cross = "onnxruntime,jax" if further else "onnxruntime"
    command = commands.call("upgrade", "begin", "x", "--cross", cross, *further, folder=place)
    assert command.code == 2
    assert "--cross names two arms" in command.err


@pytest.mark.parametrize("sides", ["a", "a,b,c"])
def test_sides_are_two(place: Path, sides: str) -> None:
    command = commands.call("upgrade", "begin", "x", "--sides", sides, folder=place)
    assert command.code == 2
    assert "--sides names two arms" in command.err
