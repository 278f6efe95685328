"""`levelfield upgrade` as people type it, on journals that are there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield import plan
from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.plan import Plan, Selection
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.run.upgrade import store
from levelfield.run.upgrade.progress import Event, MeasurementDone
from tests import commands
from tests.commands import one_clear_sentence
from tests.compare.runs import run, with_machine
from tests.machine.fake_nvml import compile_library, environment
from tests.run.upgrade.journals import begun, declared, events

Change = Callable[[Run], Run]


def write(reports: Path, name: str, sides: str, *, last: Change = lambda made: made, **begin: object) -> None:
    """Write the journal of an upgrade with its records; onnxruntime is a quarter slower on the new side.

    `last`: what is otherwise about the last record.
    """
    written: list[Event] = []
    for event in events(sides, begun(**{"name": name, "boots": sides.count("n") or 2} | begin)):
        if isinstance(event, MeasurementDone):
            number = int(event.run[9:15])
            new = sides[number - 1] == "n"
            made = run(event.run, number, slower={"onnxruntime": 1.25} if new else {}, noise_scale=0.1)
            made = with_machine(made, kernel={"release": "6.12" if new else "6.1"}, cpu={"model": "a CPU"})
            made = msgspec.structs.replace(made, started=event.at)
            (reports / event.run).mkdir(parents=True, exist_ok=True)
            file = files.write(last(made) if number == len(sides) else made, reports / event.run)
            written.append(msgspec.structs.replace(event, sha256=store.digest(file)))
        else:
            written.append(event)
    first, *rest = written
    store._ALL.create(name, reports, first)
    with store.open_journal(name, reports) as journal:
        for event in rest:
            store.add(journal, event)


def machine(**facts: dict[str, str]) -> Change:
    return lambda made: with_machine(made, **facts)


@pytest.mark.parametrize(
    ("sides", "last", "says"),
    [
        ("on", lambda made: msgspec.structs.replace(made, id="another"), "its record is of the run another"),
        (
            "ono",
            lambda made: msgspec.structs.replace(made, started="2026-03-01T00:25:00Z"),
            "it did not begin after the run 20260301-000002-run",
        ),
        (
            "on",
            machine(kernel={"release": "6.1"}),
            "new stack that the upgrade up counts: its record shows the old",
        ),
        (
            "ono",
            machine(kernel={"release": "6.12"}),
            "old stack that the upgrade up counts: its record shows the new",
        ),
        ("on", machine(kernel={"release": "6.18"}), "This is a third stack"),
        ("on", machine(cpu={"model": "another"}), "This is not the machine on which the upgrade up was begun"),
    ],
)
def test_a_record_that_is_not_what_the_journal_counts_is_refused(
    tmp_path: Path, sides: str, last: Change, says: str
) -> None:
    write(tmp_path / "reports", "up", sides, last=last)
    one_clear_sentence(commands.call("upgrade", "verdict", "up", folder=tmp_path), says)


def test_image_sets_as_sides_are_of_one_stack(tmp_path: Path) -> None:
    begin: dict[str, Any] = {"selections": declared().selections, "plans": declared().plans}
    write(tmp_path / "reports", "up", "on", last=machine(kernel={"release": "6.1"}), **begin)
    assert commands.call("upgrade", "verdict", "up", folder=tmp_path).code == 3
    write(tmp_path / "other" / "reports", "up", "on", **begin)
    command = commands.call("upgrade", "verdict", "up", folder=tmp_path / "other")
    one_clear_sentence(command, "This machine's own stack changed since")


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
        (["verdict", "edited"], "The upgrade edited was not begun here, or was changed since"),
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
