"""What a container costs, on records whose truth is known."""

import msgspec
import pytest

from levelfield.analysis import environment
from levelfield.analysis.whole_launch import total_ns
from levelfield.compare import containers
from levelfield.compare.ab import compare_arms
from levelfield.compare.types import Comparison, Gate
from levelfield.record.schema import Absent, Arm, Block, Case, Failure, Generation, Launch, Run, Startup
from tests.compare.pairs import BARE, BOX, run
from tests.compare.pairs import places as record

MS = 1_000_000


def judged(made: Run) -> Comparison:
    return compare_arms(made, Gate(), "0" * 64)


def note(found: Comparison, begins: str) -> str:
    (one,) = [each for each in found.notes if each.startswith(begins)]
    return one


@pytest.mark.parametrize(
    ("first", "second", "factor"), [(BOX, BARE, 1 / 1.25), (BARE, BOX, 1.25)], ids=["box first", "box second"]
)
def test_the_cost_is_the_containers_whichever_arm_it_is(first: Arm, second: Arm, factor: float) -> None:
    found = judged(record(factor, first=first, second=second, scenarios=("latency", "memory")))
    said = note(found, "What the container costs in latency")
    assert said.startswith("What the container costs in latency, over the virtual environment: MLP +25\u00a0% (+2")
    assert note(found, "What the container costs in peak memory").count("MLP +25\u00a0%") == 1
    assert note(found, "onnxruntime+launcher=docker ran in a container").endswith(
        "onnxruntime+launcher=venv in a virtual environment of the same lock."
    )


def test_a_wrong_answer_costs_nothing_that_could_be_told() -> None:
    found = judged(record(1.2, scenarios=("latency",), unequal=[("onnxruntime", "mlp")]))
    assert note(found, "onnxruntime+launcher=docker ran").endswith("What that costs was not measured.")


def test_arms_of_one_place_are_not_told_of_places() -> None:
    twin = msgspec.structs.replace(BOX, ordinal=2)
    found = judged(run(1.0, first=BOX, second=twin, models=("mlp",), scenarios=("latency",)))
    assert not any("container" in each for each in found.notes)
    assert not any(group.title == "Where workers ran" for group in found.changes)
    assert containers.compare_launchers(run(1.0), BOX, twin) == ()


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (Arm("onnxruntime", "onnxruntime", launcher="venv", settings={"spinning": "off"}), "settings"),
        (Arm("onnxruntime", "onnxruntime", launcher="venv", inject="5%"), "injected slowdown"),
    ],
)
def test_what_differs_in_more_is_not_the_containers(other: Arm, says: str) -> None:
    found = judged(record(1.2, second=other, scenarios=("latency",)))
    assert says in note(found, "onnxruntime+launcher=docker ran in a container")
    assert not any(each.startswith("What the container costs") for each in found.notes)


def test_another_version_on_the_host_is_not_the_containers() -> None:
    host = Arm("onnxruntime", "onnxruntime", launcher="host")
    made = record(1.0, second=host, scenarios=("latency",))

    def older(launch: Launch) -> Launch:
        return msgspec.structs.replace(launch, framework_version="1.20.0") if launch.arm == host.id else launch

    blocks = tuple(
        msgspec.structs.replace(
            block,
            generations=tuple(
                msgspec.structs.replace(each, launches=tuple(map(older, each.launches))) for each in block.generations
            ),
        )
        for block in made.blocks
    )
    said = note(judged(msgspec.structs.replace(made, blocks=blocks)), "onnxruntime+launcher=docker ran")
    assert "in the current interpreter, with what is installed there" in said
    assert "version 1.31.1 and 1.20.0" in said


def cold(*pairs: tuple[Startup | None, Startup | None]) -> Block:
    """A block of cold starts: container and virtual environment, generation by generation."""
    failure = Failure("load", "error", "It would not load.")
    return Block(
        case=Case("mlp", "cold-start", "fp32", 1, 2),
        arms=(BOX, BARE),
        planned_generations=len(pairs),
        generations=tuple(
            Generation(
                index,
                index,
                tuple(
                    Launch(arm.id, "", startup=startup, failure=None if startup else failure)
                    for arm, startup in zip((BOX, BARE), both, strict=True)
                ),
            )
            for index, both in enumerate(pairs)
        ),
    )


def startup(start: float, load: float = 20.0) -> Startup:
    return Startup(round(start * MS), 300 * MS, 5 * MS, round(load * MS), 2 * MS)


def test_a_stage_is_compared_launch_by_launch() -> None:
    """Differences of 398, 399, 400, 401 and 402 ms: t(4) at 95 % is 2.776, the standard error 0.7071 ms."""
    block = cold(*((startup(200 + 10 * index + 398 + index), startup(200 + 10 * index)) for index in range(5)))
    found = containers.added(block, BOX, BARE, lambda one: one.start_ns)
    assert found is not None
    assert found.value / MS == pytest.approx(400)
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / 2 / MS == pytest.approx(2.776 * 0.7071, rel=1e-3)
    other_way = containers.added(block, BARE, BOX, total_ns)
    assert other_way is not None
    assert other_way.value / MS == pytest.approx(-400)
    nothing = containers.added(block, BOX, BARE, lambda one: one.import_ns)
    assert nothing is not None
    assert (nothing.value, nothing.low, nothing.high) == (0.0, 0.0, 0.0)


def test_launches_that_failed_and_calls_that_were_not_timed_are_left_out() -> None:
    untimed = msgspec.structs.replace(startup(300), first_call_ns=Absent("not timed"))
    block = cold((startup(600), None), (untimed, startup(200)))
    started = containers.added(block, BOX, BARE, lambda one: one.start_ns)
    assert started is not None
    assert (started.value, started.low) == (100 * MS, None)
    assert containers.added(block, BOX, BARE, lambda one: one.first_call_ns) is None


def test_a_cold_start_is_reported_stage_by_stage() -> None:
    made = record(1.0, scenarios=("cold-start",))
    block = cold(
        *((startup(600 + index, 19.5), startup(200 - index)) for index in range(6)),
    )
    parities = [launch.parity for each in made.blocks[0].generations for launch in each.launches if launch.parity]
    generations = tuple(
        msgspec.structs.replace(
            each, launches=tuple(msgspec.structs.replace(one, parity=parities[0]) for one in each.launches)
        )
        for each in block.generations
    )
    made = msgspec.structs.replace(made, blocks=(msgspec.structs.replace(block, generations=generations),))
    said = note(judged(made), "What the container adds to a cold start of MLP")
    assert "in all +404\u00a0ms (+401 to +408)" in said
    assert "start +405\u00a0ms (+401 to +409)" in said
    assert "import 0" in said
    assert "load \u22120.50\u00a0ms (\u22120.50 to \u22120.50)" in said


def test_where_workers_ran_is_the_first_change() -> None:
    made = record(1.0, scenarios=("latency",))
    found = judged(made)
    assert found.changes[0].title == "Where workers ran"
    facts = {change.name: (change.old, change.new) for change in found.changes[0].changes}
    assert facts["launcher"] == ("docker", "venv")
    assert facts["Python"] == (made.images[0].python, "3.11.7")
    assert facts["memory limit"] == ("12.0 GiB", "none of its own")
    assert facts["C library"][1] == environment.text(made.machine["system"].get("C library"))
    assert "launcher docker → venv" in found.notes[0]
    images = [group for group in found.changes if group.title.startswith("Image ")]
    assert "Image onnxruntime → onnxruntime+launcher=venv" in [group.title for group in images]
