"""Verdicts on what other tools reported in the boots of an upgrade: from synthetic runs whose truth is known."""

import itertools
import json
import random
import re
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest
import scipy

from suite.compare.formats import WRITERS
from suite.compare.types import Comparison, Gate, Outcome, Reading, Verdict
from suite.fieldtools import nccl_tests, nvbandwidth
from suite.record.schema import FieldOutput, FieldReading, Run
from suite.statistics.bracket import Costs
from suite.statistics.bracketing import Phases, bracket, judged, levels
from suite.upgrade import readings
from suite.upgrade.verdict import Phases as Boots
from suite.upgrade.verdict import judge
from tests.compare.runs import only, row
from tests.fieldtools.recorded import content
from tests.upgrade.journals import begun
from tests.upgrade.samples import BOOTS, LOST, OLD_MACHINE, UPGRADED, boots

COPY, LATENCY = "host_to_device_memcpy_ce", "host_device_latency_sm"
SPREAD = 0.003
MARGIN = Gate().margin
Tool = Callable[[random.Random], tuple[FieldOutput, ...]]
"""Returns what is reported in one boot."""


def none(_: random.Random) -> tuple[FieldOutput, ...]:
    return ()


def copies(bandwidth: float = 1.0, latency: float = 1.0, *, version: str = "v0.8", spread: float = SPREAD) -> Tool:
    """A bandwidth of 362 GB/s and a latency of 600 ns, times what is given."""

    def report(chance: random.Random) -> tuple[FieldOutput, ...]:
        found = (
            FieldReading(COPY, "CPU 0, GPU 0", 362e9 * bandwidth * (1 + chance.gauss(0, spread)), "B/s"),
            FieldReading(LATENCY, "CPU 0, GPU 0", 600 * latency * (1 + chance.gauss(0, spread)), "ns"),
        )
        return (FieldOutput(nvbandwidth.TOOL, version, "00", {"driver": "570.86.16"}, found),)

    return report


def diagnosed(*results: str) -> Tool:
    """A result of a test in each boot, in their order; where there are fewer, the last one again."""
    left = list(results)

    def report(_: random.Random) -> tuple[FieldOutput, ...]:
        result = left.pop(0) if len(left) > 1 else left[0]
        return (FieldOutput("dcgmi diag", "4.2.3", "00", {}, (FieldReading("memory", "GPU 0", result),)),)

    return report


def reporting(tool: Tool) -> Callable[[Run], Run]:
    """Let each run have what the tool reports, with noise of its own."""
    return lambda each: msgspec.structs.replace(each, field_outputs=tool(random.Random(each.id)))


def upgraded(
    before: Tool,
    new: Tool,
    after: Tool | None,
    *,
    machine: dict[str, dict[str, str]] = UPGRADED,
    measured: tuple[int, int, int] = (BOOTS, BOOTS, BOOTS),
    accepted: tuple[str, ...] = (),
) -> Comparison:
    """Judge an upgrade of five boots a phase, of which so many were measured; without an after it is one way."""
    phases = (
        boots("before", OLD_MACHINE, reporting(before)),
        boots("new", machine, reporting(new)),
        boots("after", OLD_MACHINE, reporting(after)) if after is not None else [],
    )
    found = Boots(*(runs[:count] for runs, count in zip(phases, measured, strict=True)))
    return judge(begun(boots=BOOTS, one_way=after is None), found, accepted)


def of(found: Comparison, name: str) -> Reading:
    reading: Reading = only(each for each in found.readings if each.name.startswith(name))
    return reading


def test_a_lower_bandwidth_is_found_with_its_size_and_the_drift_beside_it() -> None:
    found = upgraded(copies(), copies(0.9), copies())
    slow = of(found, COPY)
    assert (slow.verdict, slow.outcome) == (Verdict.SLOWER, "worse")
    assert slow.ratio is not None
    assert slow.ratio.value == pytest.approx(1 / 0.9, rel=0.01)
    assert slow.ratio.low is not None
    assert slow.ratio.low > 1
    assert slow.drift is not None
    assert slow.drift.value == pytest.approx(1.0, rel=0.01)
    assert slow.old == pytest.approx(362e9, rel=0.01)
    assert slow.new == pytest.approx(326e9, rel=0.01)
    assert (slow.old_replicates, slow.new_replicates) == (2 * BOOTS, BOOTS)
    assert of(found, LATENCY).verdict is Verdict.SAFE
    assert {each.verdict for each in found.rows} == {Verdict.SAFE}
    assert found.exit_code == 1
    assert found.answer.startswith("Not safe: all 2 cases safe within 2")
    assert "of 2 readings of other tools, 1 slower, 1 safe within 2" in found.answer
    assert f"nvbandwidth “{COPY}, CPU 0, GPU 0” 11 % slower" in found.answer.replace("\N{NO-BREAK SPACE}", " ")


def test_a_latency_is_a_cost_and_a_bandwidth_is_its_inverse() -> None:
    found = upgraded(copies(), copies(1.1, 1.1), copies())
    assert (of(found, COPY).verdict, of(found, LATENCY).verdict) == (Verdict.FASTER, Verdict.SLOWER)
    assert [each.outcome for each in found.readings] == ["worse", "fine"]


def test_a_drift_is_not_the_upgrade_s() -> None:
    found = upgraded(copies(), copies(0.9), copies(0.9))
    assert of(found, COPY).verdict is Verdict.DRIFTED
    assert found.exit_code == 3
    assert found.answer.startswith("Drifted: ")


def test_without_a_way_back_there_is_a_verdict_without_a_drift() -> None:
    found = upgraded(copies(), copies(0.9), None)
    assert of(found, COPY).verdict is Verdict.SLOWER
    assert of(found, COPY).drift is None


def test_a_reading_that_one_side_lacks_is_never_safe() -> None:
    lost = upgraded(copies(), none, copies())
    assert {each.verdict for each in lost.readings} == {Verdict.MISSING}
    assert lost.exit_code == 3
    added = upgraded(none, copies(), none)
    assert {(each.verdict, each.outcome) for each in added.readings} == {(Verdict.ADDED, "aside")}
    assert added.exit_code == 0


def test_a_reading_that_no_boot_after_the_way_back_has_gets_no_verdict() -> None:
    found = upgraded(copies(), copies(0.9), none)
    assert of(found, COPY).verdict is Verdict.UNDECIDED
    assert of(found, COPY).reason == "no boot after the way back has such a reading"


def test_one_boot_of_a_phase_is_too_few() -> None:
    boot = itertools.count()

    def once(chance: random.Random) -> tuple[FieldOutput, ...]:
        return copies()(chance) if next(boot) == 0 else ()

    found = upgraded(copies(), once, copies())
    assert of(found, COPY).verdict is Verdict.UNDECIDED
    assert "at least 3 boots" in of(found, COPY).reason
    assert of(found, COPY).ratio is not None


@pytest.mark.parametrize("measured", [(5, 5, 0), (5, 3, 0), (5, 5, 4)])
def test_there_is_no_verdict_before_the_last_boot(measured: tuple[int, int, int]) -> None:
    found = upgraded(copies(), copies(0.9), copies(), measured=measured)
    assert {each.verdict for each in found.readings} == {Verdict.UNDECIDED}
    slow = of(found, COPY)
    assert slow.reason.startswith("too early: ")
    assert slow.ratio is not None
    assert slow.ratio.value == pytest.approx(1 / 0.9, rel=0.01)
    failed = upgraded(diagnosed("pass"), diagnosed("fail"), diagnosed("pass"), measured=measured)
    assert only(failed.readings).verdict is Verdict.UNDECIDED
    assert found.exit_code == failed.exit_code == 3


def test_a_lost_setting_makes_a_change_not_attributable_unless_it_is_accepted() -> None:
    found = upgraded(copies(), copies(0.9), copies(), machine=LOST)
    assert {each.verdict for each in found.readings} == {Verdict.NOT_ATTRIBUTABLE}
    assert found.exit_code == 3
    accepted = upgraded(copies(), copies(0.9), copies(), machine=LOST, accepted=("clock, *",))
    assert of(accepted, COPY).verdict is Verdict.SLOWER


def test_several_readings_of_a_boot_give_their_median() -> None:
    def thrice(chance: random.Random) -> tuple[FieldOutput, ...]:
        return (*copies()(chance), *copies()(chance), *copies(0.1)(chance))

    found = upgraded(thrice, copies(), thrice)
    assert of(found, COPY).verdict is Verdict.SAFE
    assert of(found, COPY).old == pytest.approx(362e9, rel=0.01)
    assert of(found, COPY).old_replicates == 2 * BOOTS


def test_another_version_of_the_tool_is_another_question() -> None:
    found = upgraded(copies(), copies(0.9, version="v0.9"), copies())
    assert {each.verdict for each in found.readings} == {Verdict.INCOMPARABLE}
    assert of(found, COPY).reason == (
        "nvbandwidth was run otherwise: version v0.8 on the old stack, and v0.9 on the new one"
    )
    assert found.exit_code == 3


@pytest.mark.parametrize(
    ("before", "new", "after", "verdict", "outcome"),
    [
        (("pass",), ("fail",), ("pass",), Verdict.FAILED, "worse"),
        (("pass",), ("fail", "pass"), ("pass",), Verdict.UNDECIDED, "undecided"),
        (("pass",), ("warn",), ("pass",), Verdict.UNDECIDED, "undecided"),
        (("pass",), ("fail",), ("fail",), Verdict.DRIFTED, "undecided"),
        (("pass", "fail"), ("fail",), ("pass",), Verdict.DRIFTED, "undecided"),
        (("fail",), ("pass",), ("fail",), Verdict.RECOVERED, "aside"),
    ],
)
def test_results_in_words_are_compared(
    before: Sequence[str], new: Sequence[str], after: Sequence[str], verdict: Verdict, outcome: Outcome
) -> None:
    found = upgraded(diagnosed(*before), diagnosed(*new), diagnosed(*after))
    result = only(found.readings)
    assert (result.verdict, result.outcome) == (verdict, outcome)
    assert found.exit_code == {"worse": 1, "undecided": 3, "aside": 0}[outcome]


def test_results_that_differ_within_a_side_are_counted() -> None:
    result = only(upgraded(diagnosed("pass"), diagnosed("fail", "pass"), diagnosed("pass")).readings)
    assert (result.old, result.new) == ("pass", "fail (1 boot); pass (4 boots)")


def test_results_that_are_the_same_in_all_boots_are_not_shown() -> None:
    found = upgraded(diagnosed("fail"), diagnosed("fail"), diagnosed("fail"))
    assert not found.readings
    assert found.exit_code == 0


def reduction(
    bandwidth: float = 235.26e9, *, wrong: float = 0.0, settings: str = "nThread 1", nccl: str = "23007"
) -> Tool:
    """What nccl-tests prints of one size: the bandwidth to two decimals."""

    def report(chance: random.Random) -> tuple[FieldOutput, ...]:
        place, noisy = "8 bytes, float sum", bandwidth * (1 + chance.gauss(0, SPREAD))
        found = (
            FieldReading(f"in-place {nccl_tests.TIME}", place, 8e9 / noisy * 1e9, "ns"),
            FieldReading(f"in-place {nccl_tests.BUS_BANDWIDTH}", place, round(noisy, -7), "B/s"),
            FieldReading(f"in-place {nccl_tests.WRONG_VALUES}", place, wrong),
            FieldReading("in-place largest error", place, chance.random()),
        )
        return (FieldOutput(nccl_tests.TOOL, "2.18.2", "00", {"settings": settings, "NCCL": nccl}, found),)

    return report


def test_a_time_and_its_bandwidth_count_once() -> None:
    assert {each.unit for each in upgraded(reduction(), reduction(nccl="23104"), reduction()).readings} == {"B/s"}
    small = upgraded(reduction(1e9), reduction(1e9, nccl="23104"), reduction(1e9))
    assert {each.unit for each in small.readings} == {"ns"}, "a small bandwidth is printed too coarsely"
    assert {each.verdict for each in small.readings} == {Verdict.SAFE}


def test_a_bandwidth_that_falls_to_almost_nothing_is_judged() -> None:
    found = upgraded(reduction(), reduction(1e8), reduction())
    assert only(found.readings).verdict is Verdict.SLOWER


def test_wrong_values_are_failures() -> None:
    found = upgraded(reduction(), reduction(wrong=3.0), reduction())
    wrong = of(found, "in-place wrong values")
    assert (wrong.verdict, wrong.old, wrong.new) == (Verdict.FAILED, "0", "3")
    assert found.exit_code == 1


def test_tests_that_were_run_with_other_settings_are_not_compared() -> None:
    found = upgraded(reduction(), reduction(settings="nThread 2"), reduction())
    assert only(found.readings).verdict is Verdict.INCOMPARABLE
    assert "settings nThread 1 on the old stack, and nThread 2 on the new one" in only(found.readings).reason


def test_recorded_outputs_are_read_as_they_are() -> None:
    """One row for each size and half of nccl-tests; of nvbandwidth one for each place that was measured."""

    def recorded(_: random.Random) -> tuple[FieldOutput, ...]:
        return (
            nccl_tests.parse(content("nccl-tests-2.18.2-2x-gh200.log")),
            nvbandwidth.parse(content("nvbandwidth-v0.8-4x-rtx-5090.json")),
        )

    found = upgraded(recorded, recorded, recorded)
    by_tool = [each.tool for each in found.readings]
    assert (by_tool.count(nccl_tests.TOOL), by_tool.count(nvbandwidth.TOOL)) == (8 * 2, 18 * 4)
    assert {each.verdict for each in found.readings} == {Verdict.SAFE}


def test_cases_lose_power_only_where_there_are_numbers_to_test() -> None:
    def confidence(found: Comparison) -> float | None:
        return row(found, "jax").confidence

    alone = upgraded(none, none, none)
    words = upgraded(diagnosed("pass"), diagnosed("fail"), diagnosed("pass"))
    numbers = upgraded(copies(), copies(), copies())
    q, share = Gate().q, readings.SHARE
    assert confidence(alone) == confidence(words) == pytest.approx(1 - 2 * q)
    assert confidence(numbers) == pytest.approx(1 - 2 * q * (1 - share))
    assert of(numbers, COPY).confidence == pytest.approx(1 - 2 * q * share)
    assert "Over all cases together" in alone.method
    assert "Over all cases and readings of other tools together" in numbers.method
    assert f"Readings are tested at {100 * share:.0f}" in numbers.method


def at_most(wrong: int, trials: int) -> bool:
    """Return whether so many wrong verdicts are no more than one percent has by chance."""
    return wrong <= int(scipy.stats.binom.ppf(0.999, trials, Gate().q))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_an_honest_machine_is_called_otherwise_in_one_percent_of_upgrades(count: int) -> None:
    """Five cases and five readings, which share the level of a boot, at the levels that they have."""
    rng = np.random.default_rng(23)
    trials = 20_000
    logs = rng.normal(0, 0.01, (3, trials, 1, count)) + rng.normal(0, 0.01, (3, trials, 10, count))
    phases = Phases(logs.mean(axis=-1), logs.var(axis=-1, ddof=1), np.full((3, 1, 1), float(count)))
    wrong = np.zeros(trials, dtype=np.bool_)
    for some, part in ((slice(5), 1 - readings.SHARE), (slice(5, 10), readings.SHARE)):
        compared = bracket(Phases(phases.means[..., some], phases.variances[..., some], phases.boots))
        level = Gate().q * part
        found = judged(compared, levels(compared, margin=MARGIN, level=level), margin=MARGIN, level=level)
        wrong |= np.isin(found.verdict, ["slower", "drifted"]).any(axis=-1)
    assert at_most(int(wrong.sum()), trials)


def _blank() -> Reading:
    return Reading(tool="nvbandwidth", name=COPY, verdict=Verdict.UNDECIDED, outcome="undecided")


@pytest.mark.parametrize("spread", [0.0005, 0.003, 0.01])
def test_rounding_makes_no_verdict(spread: float) -> None:
    """The smallest bandwidths that are judged, as nccl-tests prints them."""
    rng = np.random.default_rng(29)
    least = readings.LEAST_STEPS * nccl_tests.STEP_BYTES_PER_S / MARGIN
    trials, wrong = 600, 0
    for _ in range(trials):
        true = least * (1 + 0.05 * rng.random())
        printed = np.round(true * np.exp(rng.normal(0, spread, 9)), -7)
        costs = Costs(*(tuple(1 / printed[phase * 3 :][:3]) for phase in range(3)))
        found = only(readings.judge([readings.Question(_blank(), costs)], Gate()))
        wrong += found.verdict not in (Verdict.SAFE, Verdict.UNDECIDED)
    assert at_most(wrong, trials)


@pytest.mark.parametrize("name", list(WRITERS))
def test_every_format_shows_them_with_size_drift_and_verdict(name: str) -> None:
    found = upgraded(copies(), copies(0.9), copies())
    text = WRITERS[name](found).replace("\\", "")
    assert COPY in text
    if name != "json":
        plain = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "")
        assert "eadings of other tools" in plain
        assert "362 GB/s" in plain
        assert "326 GB/s" in plain
        assert "1.11" in plain[plain.index("362 GB/s") :]
        assert "slower" in plain[plain.index("326 GB/s") - 100 :]
        assert re.search(r"(0\.99|1\.00)\d \((0\.99|1\.00)\d–1\.0", plain), "the drift"
    failed = WRITERS[name](upgraded(diagnosed("pass"), diagnosed("fail"), diagnosed("pass")))
    assert "it passes in every boot of the old stack" in failed


def test_junit_and_json_hold_them_apart() -> None:
    found = upgraded(copies(), copies(0.9), copies())
    root = ET.fromstring(WRITERS["junit"](found))
    suite = only(each for each in root if each.attrib["name"] == "readings of other tools")
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    listed = json.loads(WRITERS["json"](found))["readings"]
    assert [(each["id"], each["verdict"], each["unit"]) for each in listed] == [
        (f"nvbandwidth/{COPY}, CPU 0, GPU 0", "slower", "B/s"),
        (f"nvbandwidth/{LATENCY}, CPU 0, GPU 0", "safe", "ns"),
    ]
    assert listed[0]["drift"]["value"] == pytest.approx(1.0, rel=0.01)


def test_the_terminal_and_the_page_say_what_they_leave_out() -> None:
    def many(chance: random.Random) -> tuple[FieldOutput, ...]:
        found = tuple(
            FieldReading("copy", f"GPU {index}", 5e10 * (1 + chance.gauss(0, SPREAD)), "B/s") for index in range(510)
        )
        return (FieldOutput(nvbandwidth.TOOL, "v0.8", "00", {}, found),)

    found = upgraded(many, many, many)
    assert len(found.readings) == 510
    assert "470 more readings: --format html shows them." in " ".join(WRITERS["terminal"](found).split())
    assert "10 more readings are in the JSON." in WRITERS["html"](found)
    assert "310 more rows are left out here" in WRITERS["markdown"](found)


def test_what_changed_does_not_list_them_again() -> None:
    found = upgraded(reduction(), reduction(nccl="23104"), reduction())
    group = only(each for each in found.changes if each.title == "Readings of nccl-tests")
    assert "NCCL" in {change.name for change in group.changes}
    assert not {change.name for change in group.changes} & {each.name for each in found.readings}
