"""The steps of `bench` around the measurement: what is refused, and what is said at the end."""

import io
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from rich.console import Console

from levelfield.errors import LevelfieldError
from levelfield.images import environments
from levelfield.plan import Plan, Selection
from levelfield.record import files, journal, warnings
from levelfield.record.page import NAME as REPORT
from levelfield.run import bench, first_ranking
from levelfield.run.bench import NOT_DECIDED, find, finish, run_bench, to_resume
from levelfield.run.options import Options
from tests import canaries
from tests.records_builder import kept, make_run
from tests.reported import check_run

SMOKE = Selection(profile="smoke", models=("mlp",), backends=("onnxruntime",), scenarios=("latency",))


class Measured:
    """What would have been measured."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def run(self, options: Options) -> tuple[int, str]:
        stream = io.StringIO()
        _, code = run_bench(options, Console(file=stream, width=200))
        return code, stream.getvalue()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Let every run take no time: the measurement alone is left out."""
    found = Measured()

    def conduct(chosen: Plan, options: Options, console: Console, **_: object) -> Path:
        found.plans.append(chosen)
        return Path(f"run-{len(found.plans)}")

    def finished(folder: Path, *_: object, **__: object) -> int:
        del folder
        return 0

    monkeypatch.setattr(bench, "conduct", conduct)
    monkeypatch.setattr(bench, "finish", finished)
    return found


def test_a_target_that_nothing_uses_is_refused_before_anything_runs(measured: Measured) -> None:
    with pytest.raises(LevelfieldError, match="--target is for the scenario convergence") as caught:
        run_bench(Options(selection=SMOKE, target=0.9), Console(quiet=True))
    assert "--target" in caught.value.fix
    assert not measured.plans


@pytest.fixture
def begun(reports: Path) -> canaries.Harness:
    """A run that was cut off before its first window."""
    return canaries.Harness(canaries.plan("latency"), reports)


def test_a_run_that_another_process_measures_is_not_found(begun: canaries.Harness, reports: Path) -> None:
    with journal.Journal(begun.folder / files.JOURNAL), pytest.raises(LevelfieldError):
        find(begun.folder.name, reports)
    find(begun.folder.name, reports)


def test_what_is_finished_or_not_there_is_not_gone_on_with(reports: Path) -> None:
    with pytest.raises(LevelfieldError, match="There is no run 'gone' to go on with") as caught:
        find("gone", reports)
    assert str(reports) in caught.value.fix
    kept(make_run(models=["mlp"], backends=["jax"], generations=1, rounds=1), reports / "done")
    with pytest.raises(LevelfieldError, match="The run 'done' is finished"):
        find("done", reports)


def test_what_was_cut_off_is_a_whole_record_with_a_page(begun: canaries.Harness) -> None:
    stream = io.StringIO()
    assert finish(begun.folder, Console(file=stream, width=200)) != 0, "nothing was measured"
    assert files.read(begun.folder).blocks == begun.record().blocks
    assert f"Report: {begun.folder / REPORT}" in stream.getvalue()
    check_run(begun.folder)


def resuming(run: str, reports: Path, *words: str) -> Options:
    budget_s = 480.0 if "--budget" in words else None
    command = ("levelfield", "bench", *words, "--resume", run)
    return Options(reports=reports, resume=run, command=command, budget_seconds=budget_s)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--models", "mlp"), "--models asks"),
        (("--threads=1", "--seed", "8", "--identify"), "--seed and --identify ask"),
        (("--profile", "standard", "--budget", "8m"), "--profile asks"),
        (("--margin", "2%", "--precision-target", "1%"), "--precision-target asks"),
    ],
)
def test_what_contradicts_a_run_is_refused_by_name(
    begun: canaries.Harness, reports: Path, words: tuple[str, ...], named: str
) -> None:
    with pytest.raises(LevelfieldError) as caught:
        to_resume(resuming(begun.folder.name, reports, *words))
    assert caught.value.message.startswith(f"{named} for something else than what the run {begun.folder.name} was")
    assert "--budget alone may be a new one" in caught.value.fix


def test_what_a_run_was_begun_with_and_another_budget_is_not_refused(begun: canaries.Harness, reports: Path) -> None:
    words = (
        "--margin", "2%", "--profile=smoke", "--seed", "7", "--threads", "1", "--budget", "8m", "--strict", "--yes",
    )  # fmt: skip
    assert to_resume(resuming(begun.folder.name, reports, *words))


@pytest.mark.parametrize(
    ("kind", "message"), [("host", "was begun with the launcher host"), ("", "is for an arm of `ab`")]
)
def test_no_journal_moves_workers_out_of_containers(
    begun: canaries.Harness, reports: Path, kind: Literal["host", ""], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun.record()
    arms = tuple(msgspec.structs.replace(arm, launcher="" if kind else "host") for arm in run.blocks[0].arms)
    block = msgspec.structs.replace(run.blocks[0], arms=arms)
    settings = msgspec.structs.replace(run.settings, launcher=kind or "venv")
    run = msgspec.structs.replace(run, settings=settings, blocks=(block,))
    monkeypatch.setattr(bench, "find", lambda *_: (begun.folder, run))
    options = msgspec.structs.replace(resuming(run.id, reports), launcher="venv", dry_run=True)
    with pytest.raises(LevelfieldError, match=message):
        run_bench(options, Console(quiet=True))


def test_a_dry_run_says_how_long_a_run_goes_on(reports: Path) -> None:
    budget = Options(seed=1, budget_seconds=60.0)
    run = canaries.Harness(canaries.plan("latency"), reports, options=budget).folder.name
    for words, says in (
        ((), "measured for 60 s at the most."),
        (("--budget", "8m"), "measured for 8 min at the most."),
    ):
        options = msgspec.structs.replace(resuming(run, reports, *words), launcher="host", dry_run=True)
        stream = io.StringIO()
        with pytest.raises(SystemExit):
            run_bench(options, Console(file=stream, width=300))
        assert says in stream.getvalue()


def test_a_run_whose_budget_is_spent_needs_another_one(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(models=["mlp"], warnings=(warnings.budget_spent(60, 5, 1, needed_s=55, missing_s=20, before_s=0),))
    run = msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, clock_seconds=60.0))
    monkeypatch.setattr(bench, "find", lambda *_: (reports, run))
    with pytest.raises(LevelfieldError, match="has no time for what is left") as caught:
        to_resume(resuming(run.id, reports))
    assert "--budget" in caught.value.fix
    assert to_resume(resuming(run.id, reports, "--budget", "8m"))


class Interrupted(Console):
    """A terminal at which somebody presses Ctrl-C while results are printed."""

    def print(self, *objects: object, **options: object) -> None:
        del objects, options
        raise KeyboardInterrupt


def test_an_interrupt_while_the_report_is_written_loses_nothing(begun: canaries.Harness) -> None:
    measured = begun.record().blocks
    folder = begun.folder.rename(begun.folder.with_name("a;sh"))
    with pytest.raises(LevelfieldError, match="everything measured is kept") as caught:
        finish(folder, Interrupted())
    assert f"levelfield report 'a;sh' --reports {folder.parent}." in caught.value.fix
    assert files.read(folder).blocks == measured


@pytest.mark.parametrize(("generations", "strict_code"), [(5, 0), (2, NOT_DECIDED)])
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


def test_without_an_engine_and_the_python_of_the_canary_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    newer = (Path("python3.13"), "3.13.5")
    monkeypatch.setattr(environments, "_interpreter", lambda python: newer if python == "3.13" else None)
    stream = io.StringIO()
    # Arms of another Python would not help: the canary has no lock for one.
    with pytest.raises(LevelfieldError, match=r"The lock of (exporter|canary) cpu is for Python 3\.11"):
        run_bench(Options(selection=STANDARD, so_far=True), Console(file=stream, width=200))
    assert "No container engine answers" in stream.getvalue()


@pytest.mark.usefixtures("missing")
def test_nobody_who_does_not_wait_gets_a_first_ranking_and_a_run_until_a_time_ends_with_it(measured: Measured) -> None:
    measured.run(Options(selection=STANDARD))
    measured.run(Options(selection=STANDARD, so_far=True, until_seconds=180.0))
    assert [each.backends for each in measured.plans] == [STANDARD.backends, ("onnxruntime", "openvino")]


def test_a_run_until_a_time_measures_latency_unless_something_was_named(measured: Measured) -> None:
    for scenarios in ((), ("memory",)):
        named = Selection(models=("mlp",), backends=("jax",), scenarios=scenarios)
        measured.run(Options(selection=named, until_seconds=180.0, launcher="host"))
    assert [each.scenarios for each in measured.plans] == [("latency",), ("memory",)]


@pytest.mark.parametrize("more", [{"budget_seconds": 5.0}, {"resume": "run"}])
def test_a_run_until_a_time_is_one_new_run(measured: Measured, more: dict[str, Any]) -> None:
    with pytest.raises(LevelfieldError, match="--until is the end of a new run"):
        measured.run(Options(selection=STANDARD, until_seconds=180.0, **more))
