"""Cases that LoadGen drove: their values, ranks, curves, and what is said where no load holds the target."""

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis import loadgen
from levelfield.analysis.launch_levels import launch_levels, level_matrix
from levelfield.analysis.types import LoadGenBlock, LoadGenRow
from levelfield.record.schema import Absent, Block, Launch, LoadGenLaunch, Run
from levelfield.statistics.student import EndedBy
from tests.known import known
from tests.records_builder import make_run, with_launches


def run_of(scenario: str, **more: object) -> Run:
    return make_run(models=["resnet50"], backends=["torch", "jax", "openvino"], scenarios=[scenario], **more)  # type: ignore[arg-type]


def block_of(run: Run) -> LoadGenBlock:
    (block,) = analysis.analyse(run).loadgen
    return block


def changed(run: Run, **changes: object) -> Block:
    """The only block of a run, with every launch of LoadGen changed."""

    def change(launch: Launch) -> Launch:
        return msgspec.structs.replace(launch, loadgen=msgspec.structs.replace(known(launch.loadgen), **changes))

    arms = [arm.id for arm in run.blocks[0].arms if arm.id != run.blocks[0].canary]
    for arm in arms:
        run = with_launches(run, change, arm)
    return run.blocks[0]


def analysed(block: Block) -> LoadGenBlock:
    return loadgen.analyse(block, {}, margin=0.02, ended=EndedBy.PLAN)


def test_single_stream_is_ranked_by_its_90th_percentile_and_stands_beside_ours() -> None:
    block = block_of(run_of("loadgen-single-stream"))
    assert block.best == "openvino"
    assert [row.rank for row in block.rows] == [1, 2, 3]
    for row in block.rows:
        assert row.against_own is not None
        assert row.against_own.value == pytest.approx(1.02, abs=1e-6)
        assert row.against_own.low is not None
        assert row.own_p90_ns == pytest.approx(known(row.value_ns).value / 1.02, rel=1e-6)
        assert (row.tests, row.tests_valid, row.why_invalid) == (20, 20, ()), "four in each launch"


def test_our_percentile_is_computed_as_loadgen_computes_its_own() -> None:
    """LoadGen takes a latency that was measured, at `count × share` of the sorted ones: no interpolation."""
    (window, *_) = _launch(run_of("loadgen-single-stream")).own
    window = msgspec.structs.replace(window, samples_ns=tuple(range(1, 11)))
    assert loadgen.percentile_ns(window, 0.9) == 10
    assert loadgen.percentile_ns(msgspec.structs.replace(window, samples_ns=()), 0.9) is None
    assert loadgen.percentile_ns(msgspec.structs.replace(window, samples_ns=(0, 5)), 0.9) is None


def test_server_counts_the_highest_rate_that_held() -> None:
    run = run_of("loadgen-server", noise_scale=0.0)
    (block,) = run.blocks
    levels = launch_levels(block)
    for launch in block.generations[0].launches:
        best = max(test.offered_per_second or 0 for test in known(launch.loadgen).tests if test.valid)
        assert levels[launch.arm][0] == pytest.approx(1e9 / best)
    assert level_matrix(block).shape == (5, 3)
    row = block_of(run).rows[0]
    assert row.per_second is not None
    assert [point.held for point in row.points] == [True] * 20 + [False] * 10
    assert (row.points[-1].late_share, row.points[-1].not_served) == (0.4, 3)
    assert (row.tests, row.tests_valid) == (5, 5), "one decides in each launch; those that broke down do not"


@pytest.mark.parametrize(
    ("target_ns", "says"), [(1_000_000, "a query alone takes"), (30_000_000, "no rate that was tried held 30 ms")]
)
def test_a_target_that_cannot_be_met_is_one_sentence(target_ns: int, says: str) -> None:
    run = run_of("loadgen-server", noise_scale=0.0)
    row = _row(analysed(changed(run, target_ns=target_ns)), "openvino")
    assert row.value_ns is None
    assert says in row.out_of_reach
    assert (row.reason, row.standing) == (row.out_of_reach, "shown")


def test_offline_is_a_rate_and_what_loadgen_does_not_say_is_no_value() -> None:
    run = run_of("loadgen-offline")
    assert all(row.per_second is not None for row in analysed(run.blocks[0]).rows)
    launch = _launch(run_of("loadgen-offline"))
    unknown = tuple(msgspec.structs.replace(test, per_second=Absent("no")) for test in launch.tests)
    row = _row(analysed(changed(run, tests=unknown)), "jax")
    assert row.value_ns is None
    assert row.reason == "LoadGen found no value in a launch"


@pytest.mark.parametrize("scenario", ["loadgen-single-stream", "loadgen-server", "loadgen-offline"])
@pytest.mark.parametrize("changes", [{"tests": ()}, {"own": ()}, {"target_ns": None}, {"tests": (), "own": ()}])
def test_a_strangers_record_may_lack_anything(scenario: str, changes: dict[str, object]) -> None:
    run = run_of(scenario)
    for row in analysed(changed(run, **changes)).rows:
        assert row.launches <= 5


def _launch(run: Run) -> LoadGenLaunch:
    return known(run.blocks[0].generations[0].launches[0].loadgen)


def _row(block: LoadGenBlock, arm: str) -> LoadGenRow:
    return next(row for row in block.rows if row.arm == arm)
