"""The steps of `bench` around the measurement: what is refused, whose turn it is, and what is said at the end."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from levelfield.errors import LevelfieldError
from levelfield.plan import Plan, Selection
from levelfield.record import files, journal
from levelfield.record.bounds import SEED_BITS
from levelfield.record.page import NAME as REPORT
from levelfield.run import bench, first_ranking
from levelfield.run.bench import INCONCLUSIVE, find, finish, run_bench, turns
from levelfield.run.options import Options
from tests import canaries
from tests.records_builder import make_run
from tests.reported import check_run

SMOKE = Selection(profile="smoke", models=("mlp",), backends=("onnxruntime",), scenarios=("latency",))
OTHER = ("openvino",)


@pytest.mark.parametrize("pairs", [2, 3, 10])
def test_every_pair_of_turns_holds_one_run_of_each_side(pairs: int) -> None:
    for seed in range(20):
        order = turns(pairs, seed)
        assert order == turns(pairs, seed)
        assert len(order) == 2 * pairs
        firsts = order[::2]
        assert [first + second for first, second in zip(firsts, order[1::2], strict=True)] == [1] * pairs
        assert abs(2 * sum(firsts) - pairs) <= pairs % 2, "either side is first as often"
    assert len({tuple(turns(pairs, seed)) for seed in range(20)}) > 1


class Measured:
    """What would have been measured: plans, seeds, and the exit codes that their runs end with."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.seeds: list[int | None] = []
        self.codes: list[int] = []

    def run(self, options: Options) -> tuple[int, str]:
        stream = io.StringIO()
        code = run_bench(options, Console(file=stream, width=200)).exit_code
        return code, stream.getvalue()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Let every run take no time: the measurement alone is left out."""
    found = Measured()

    def conduct(chosen: Plan, options: Options, console: Console, **_: object) -> Path:
        found.plans.append(chosen)
        found.seeds.append(options.seed)
        return Path(f"run-{len(found.plans)}")

    def finished(folder: Path, *_: object, **__: object) -> int:
        return found.codes[int(folder.name.removeprefix("run-")) - 1] if found.codes else 0

    monkeypatch.setattr(bench, "conduct", conduct)
    monkeypatch.setattr(bench, "finish", finished)
    return found


def test_repeated_runs_have_a_schedule_each_and_are_one_side(measured: Measured) -> None:
    code, text = measured.run(Options(selection=SMOKE, repeat=3, seed=2**SEED_BITS - 2))
    assert code == 0
    assert measured.seeds == [2**SEED_BITS - 2, 2**SEED_BITS - 1, 0]
    assert [each.backends for each in measured.plans] == [("onnxruntime",)] * 3
    assert "Run 2 of 3\n" in text
    assert "The runs: run-1 run-2 run-3" in text
    assert "levelfield baseline set NAME" in text


def test_without_a_seed_every_run_draws_its_own(measured: Measured) -> None:
    measured.run(Options(selection=SMOKE, repeat=2))
    assert measured.seeds == [None, None]


def test_two_sides_take_turns_and_the_command_that_compares_them_is_named(measured: Measured) -> None:
    _, text = measured.run(Options(selection=SMOKE, repeat=2, alternate=OTHER, seed=7))
    sides = [each.backends for each in measured.plans]
    assert sides == [(("onnxruntime",), OTHER)[side] for side in turns(2, 7)]
    old = [f"run-{number}" for number, side in enumerate(sides, 1) if side == ("onnxruntime",)]
    new = [f"run-{number}" for number, side in enumerate(sides, 1) if side == OTHER]
    assert f"levelfield compare {old[0]} {new[0]} --old {old[1]} --new {new[1]}\n" in text
    assert f"Run 1 of 4: {sides[0][0]}\n" in text


@pytest.mark.parametrize(
    ("codes", "worst"),
    [([0, 0, 0], 0), ([0, INCONCLUSIVE, 0], 3), ([INCONCLUSIVE, 2, 0], 2), ([2, 1, INCONCLUSIVE], 1)],
)
def test_several_runs_end_with_the_worst_of_their_codes(measured: Measured, codes: list[int], worst: int) -> None:
    measured.codes = codes
    assert measured.run(Options(selection=SMOKE, repeat=3))[0] == worst


@pytest.mark.parametrize(
    ("changed", "says", "fix"),
    [
        ({"repeat": 2, "resume": "a-run"}, "taken up again is one run", "--repeat"),
        ({"alternate": OTHER}, "--alternate makes runs of a second side", "--repeat 5"),
        ({"target": 0.9}, "--target is for the scenario convergence", "--target"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_runs(
    measured: Measured, changed: dict[str, object], says: str, fix: str
) -> None:
    with pytest.raises(LevelfieldError, match=says) as caught:
        run_bench(Options(selection=SMOKE, **changed), Console(quiet=True))  # type: ignore[arg-type]  # by name
    assert fix in caught.value.fix
    assert not measured.plans


def test_a_key_that_cannot_sign_is_found_before_anything_runs(measured: Measured, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    with pytest.raises(LevelfieldError, match="key"):
        run_bench(Options(selection=SMOKE, sign=tmp_path / "key"), Console(quiet=True))
    assert not measured.plans


@pytest.fixture
def begun(reports: Path) -> canaries.Harness:
    """A run that was cut off before its first window."""
    return canaries.Harness(canaries.plan("latency"), reports)


@pytest.mark.parametrize("named", [lambda folder: folder.name, str])
def test_a_run_that_was_cut_off_is_found_by_its_id_or_folder(
    begun: canaries.Harness, reports: Path, named: Callable[[Path], str]
) -> None:
    folder, run = find(named(begun.folder), reports)
    assert folder == begun.folder
    assert run == begun.record()
    assert run.finished is None


def test_a_run_that_another_process_measures_is_not_found(begun: canaries.Harness, reports: Path) -> None:
    with journal.Journal(begun.folder / files.JOURNAL), pytest.raises(LevelfieldError):
        find(begun.folder.name, reports)
    find(begun.folder.name, reports)


def test_what_is_finished_or_not_there_is_not_gone_on_with(reports: Path) -> None:
    with pytest.raises(LevelfieldError, match="There is no run 'gone' to go on with") as caught:
        find("gone", reports)
    assert str(reports) in caught.value.fix
    (reports / "done").mkdir(parents=True)
    files.write(make_run(models=["mlp"], backends=["jax"], generations=1, rounds=1), reports / "done")
    with pytest.raises(LevelfieldError, match="The run 'done' is finished"):
        find("done", reports)


def test_what_was_cut_off_is_a_whole_record_with_a_page(begun: canaries.Harness) -> None:
    stream = io.StringIO()
    code = finish(begun.folder, Console(file=stream, width=200))
    assert code != 0, "nothing was measured"
    assert files.read(begun.folder).blocks == begun.record().blocks
    assert f"Report: {begun.folder / REPORT}" in stream.getvalue()
    check_run(begun.folder)


class Interrupted(Console):
    """A terminal at which somebody presses Ctrl-C while results are printed."""

    def print(self, *objects: object, **options: object) -> None:
        del objects, options
        raise KeyboardInterrupt


def test_an_interrupt_while_the_report_is_written_loses_nothing(begun: canaries.Harness) -> None:
    with pytest.raises(LevelfieldError, match="everything measured is kept") as caught:
        finish(begun.folder, Interrupted())
    assert f"levelfield report {begun.folder.name}" in caught.value.fix
    assert files.read(begun.folder).blocks == begun.record().blocks


@pytest.mark.parametrize(("generations", "strict_code"), [(5, 0), (2, INCONCLUSIVE)])
def test_what_is_not_decided_changes_the_code_of_a_strict_run_alone(
    reports: Path, monkeypatch: pytest.MonkeyPatch, generations: int, strict_code: int
) -> None:
    """Two launches are too few for a ranking."""
    run = make_run(
        models=["mlp"], backends=["jax", "openvino"], scenarios=["latency"], generations=generations, max_calls=12
    )
    (reports / run.id).mkdir(parents=True)
    monkeypatch.setattr(journal, "read", lambda _: None)
    monkeypatch.setattr(journal, "fold", lambda _: run)
    assert finish(reports / run.id, Console(quiet=True)) == 0
    assert finish(reports / run.id, Console(quiet=True), strict=True) == strict_code


STANDARD = Selection(models=("mlp",), backends=("onnxruntime", "openvino", "jax"))


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine lack the image of JAX; which two are then first is `first_ranking`'s own test."""
    monkeypatch.setattr(first_ranking, "choose", lambda *_: ("onnxruntime", "openvino"))


@pytest.mark.usefixtures("missing")
def test_two_are_ranked_first_where_images_are_missing(measured: Measured) -> None:
    code, text = measured.run(Options(selection=STANDARD, so_far=True))
    assert code == 0
    first, whole = measured.plans
    assert {arm.id for block in first.blocks for arm in block.arms} == {"onnxruntime", "openvino"}
    assert {block.case.scenario for block in first.blocks} == {"latency"}
    assert {block.planned_generations for block in first.blocks} == {5}
    assert whole.backends == STANDARD.backends
    assert text.index("So far") < text.index("All backends")


@pytest.mark.usefixtures("missing")
def test_nobody_who_does_not_wait_gets_a_first_ranking(measured: Measured) -> None:
    measured.run(Options(selection=STANDARD))
    assert [each.backends for each in measured.plans] == [STANDARD.backends]


@pytest.mark.usefixtures("missing")
def test_a_run_until_a_time_ends_with_the_first_ranking(measured: Measured) -> None:
    measured.run(Options(selection=STANDARD, so_far=True, until_seconds=180.0))
    (only,) = measured.plans
    assert only.backends == ("onnxruntime", "openvino")


def test_a_run_until_a_time_measures_latency_unless_something_was_named(measured: Measured) -> None:
    for scenarios in ((), ("memory",)):
        named = Selection(models=("mlp",), backends=("jax",), scenarios=scenarios)
        measured.run(Options(selection=named, until_seconds=180.0, launcher="host"))
    assert [each.scenarios for each in measured.plans] == [("latency",), ("memory",)]


@pytest.mark.parametrize("more", [{"budget_seconds": 5.0}, {"repeat": 2}, {"resume": "run"}])
def test_a_run_until_a_time_is_one_new_run(measured: Measured, more: dict[str, Any]) -> None:
    with pytest.raises(LevelfieldError, match="--until is the end of one new run"):
        measured.run(Options(selection=STANDARD, until_seconds=180.0, **more))
