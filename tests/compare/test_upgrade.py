"""Verdicts on upgrades from synthetic runs: what is said of each case, of what else changed, and of the whole."""

import operator
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield.analysis.summary import Reduced
from levelfield.analysis.types import WindowsOf
from levelfield.compare.formats import WRITERS, html
from levelfield.compare.phrases import note
from levelfield.compare.types import Comparison, Verdict
from levelfield.compare.upgrade import Phases, judge
from levelfield.record import files
from levelfield.record.schema import Arm, Failure, Launch, Parity
from tests.compare.runs import reduced, row, run, with_arm, with_launches, with_machine, with_parity
from tests.compare.upgrades import BOOTS, DESIGN, LOST, OLD_MACHINE, UPGRADED, Change, boots, upgraded
from tests.report.hostile import PAYLOAD
from tests.report.test_html import Page
from tests.run.upgrade.journals import begun, declared, state


def verdicts(found: Comparison) -> dict[str, Verdict]:
    return {each.new_arm: each.verdict for each in found.rows}


def test_an_upgrade_that_changes_nothing_is_safe() -> None:
    found = upgraded()
    assert verdicts(found) == {"jax": Verdict.SAFE, "onnxruntime": Verdict.SAFE}
    assert found.exit_code == 0
    assert found.answer.startswith("Safe: all 2 cases safe within 2")
    assert [(each.name, each.meant) for each in found.settings] == [("release", "upgrade")]


def test_a_slowdown_is_found_with_its_size_and_the_drift_beside_it() -> None:
    found = upgraded(slower={"onnxruntime": 1.25})
    slow = row(found, "onnxruntime")
    assert (slow.verdict, slow.outcome) == (Verdict.SLOWER, "worse")
    assert slow.ratio is not None
    assert slow.ratio.value == pytest.approx(1.25, rel=0.02)
    assert slow.drift is not None
    assert slow.drift.value == pytest.approx(1.0, rel=0.02)
    assert row(found, "jax").verdict is Verdict.SAFE
    assert found.exit_code == 1
    assert found.answer.startswith("Not safe: of 2 cases, 1 slower, 1 safe within 2")


def in_state(runs: list[Reduced], states: dict[int, WindowsOf]) -> list[Reduced]:
    """Say of which windows runs are: calm unless told otherwise; what is not calm is half slower."""

    def of(number: int, run: Reduced) -> Reduced:
        state = states.get(number, "calm")
        return msgspec.structs.replace(
            run,
            answers={
                key: msgspec.structs.replace(
                    each, windows_of=state, cost=(each.cost or 0) * (1 if state == "calm" else 1.5)
                )
                for key, each in run.answers.items()
            },
        )

    return [of(number, run) for number, run in enumerate(runs)]


def test_runs_of_calm_windows_are_judged_alone_where_there_are_enough() -> None:
    before, after = boots("before", OLD_MACHINE), boots("after", OLD_MACHINE)
    new = boots("new", UPGRADED, slower={"onnxruntime": 1.25})
    few: dict[int, WindowsOf] = {1: "all", 3: "contended throughout"}
    found = judge(DESIGN, Phases(in_state(before, few), in_state(new, {}), in_state(after, {0: "all"})))
    slow = row(found, "onnxruntime")
    assert (slow.verdict, slow.old_replicates, slow.new_replicates) == (Verdict.SLOWER, 7, 5)
    assert any("before-1, before-3, after-0. Such a case is judged by the other boots" in each for each in found.notes)
    most = few | {0: "all"}
    found = judge(DESIGN, Phases(in_state(before, most), in_state(new, {}), in_state(after, {})))
    slow = row(found, "onnxruntime")
    assert (slow.verdict, slow.old_replicates, slow.new_replicates) == (Verdict.UNDECIDED, 10, 5)
    assert slow.reason.startswith("the machine was calm in some phases and contended in others")


def test_a_machine_that_becomes_calm_on_the_way_is_no_drift() -> None:
    busy: dict[int, WindowsOf] = dict.fromkeys(range(BOOTS), "all")
    before, new, after = (
        boots(name, machine) for name, machine in (("before", OLD_MACHINE), ("new", UPGRADED), ("after", OLD_MACHINE))
    )
    found = judge(DESIGN, Phases(in_state(before, busy), in_state(new, {}), in_state(after, {})))
    assert row(found, "onnxruntime").verdict is Verdict.UNDECIDED
    found = judge(DESIGN, Phases(*(in_state(runs, busy) for runs in (before, new, after))))
    assert row(found, "onnxruntime").verdict is Verdict.SAFE


def test_memory_is_not_slower_but_more() -> None:
    def hungrier(launch: Launch) -> Launch:
        if launch.arm != "jax" or launch.memory is None or not isinstance(launch.memory.peak_rss_bytes, int):
            return launch
        return msgspec.structs.replace(
            launch, memory=msgspec.structs.replace(launch.memory, peak_rss_bytes=2 * launch.memory.peak_rss_bytes)
        )

    memory: dict[str, Any] = {"scenarios": ["memory"]}
    phases = Phases(
        boots("before", OLD_MACHINE, **memory),
        boots("new", UPGRADED, lambda each: with_launches(each, hungrier), **memory),
        boots("after", OLD_MACHINE, **memory),
    )
    found = judge(DESIGN, phases)
    assert verdicts(found) == {"jax": Verdict.MORE_MEMORY, "onnxruntime": Verdict.SAFE}
    assert found.exit_code == 1
    assert "1 hungrier, 1 safe" in found.answer
    assert "more memory" in found.answer


def test_a_drift_is_not_the_upgrade_s() -> None:
    found = upgraded(slower={"onnxruntime": 1.25}, after={"onnxruntime": 1.25})
    assert row(found, "onnxruntime").verdict is Verdict.DRIFTED
    assert found.exit_code == 3
    assert found.answer.startswith("Drifted: ")


def test_a_lost_setting_makes_nothing_attributable_unless_it_is_accepted() -> None:
    found = upgraded(LOST, slower={"onnxruntime": 1.25})
    assert set(verdicts(found).values()) == {Verdict.NOT_ATTRIBUTABLE}
    assert found.exit_code == 3
    assert found.answer.startswith("Not attributable: all 2 cases; settings changed that were not meant to: clock gov")
    lost, stack = found.settings
    assert (lost.name, lost.meant, stack.meant) == ("governor", "not meant", "upgrade")
    accepted = upgraded(LOST, slower={"onnxruntime": 1.25}, accepted=("clock, *",))
    assert accepted.exit_code == 1
    assert {each.meant for each in accepted.settings} == {"accepted", "upgrade"}


def moved(parity: Parity) -> Parity:
    return msgspec.structs.replace(
        parity, output_sha256="0" * 64, projection=tuple(1.001 * each for each in parity.projection)
    )


def test_answers_that_moved_are_worse_whatever_their_speed() -> None:
    found = upgraded(change=lambda each: with_parity(each, "jax", moved))
    assert row(found, "jax").verdict is Verdict.MOVED
    assert row(found, "jax").reason == "of its speed: safe"
    assert found.exit_code == 1
    lost = upgraded(LOST, change=lambda each: with_parity(each, "jax", moved))
    assert lost.exit_code == 3


def test_a_case_that_fails_on_the_new_stack_is_worse_even_beside_a_lost_setting() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    for machine in (UPGRADED, LOST):
        found = upgraded(machine, failures={("jax", "mlp"): crash})
        assert row(found, "jax").verdict is Verdict.FAILED
        assert found.exit_code == 1
        assert found.answer.startswith("Not safe: of 2 cases, 1 failed")


def test_without_a_way_back_it_is_said_what_stays_open() -> None:
    found = upgraded(one_way=True, slower={"onnxruntime": 1.25})
    assert row(found, "onnxruntime").verdict is Verdict.SLOWER
    assert row(found, "onnxruntime").drift is None
    assert any("was not measured again" in note for note in found.notes)


@pytest.mark.parametrize(
    ("counts", "missing"),
    [
        ((5, 5, 0), "5 boots of the phase after"),
        ((5, 3, 0), "2 boots of the phase new and 5 boots of the phase after"),
        ((5, 5, 4), "1 boot of the phase after"),
    ],
)
def test_speed_gets_no_verdict_before_the_last_boot(counts: tuple[int, int, int], missing: str) -> None:
    """A verdict that may be asked again after every boot would err more often than it says."""
    slow = {"onnxruntime": 1.25}
    measured = (boots("before", OLD_MACHINE), boots("new", UPGRADED, slower=slow), boots("after", OLD_MACHINE))
    design = state("".join(map(operator.mul, "ono", counts)), begun(boots=BOOTS)).design
    found = judge(design, Phases(*(runs[:count] for runs, count in zip(measured, counts, strict=True))))
    assert set(verdicts(found).values()) == {Verdict.UNDECIDED}
    assert found.exit_code == 3
    assert found.answer.startswith(f"Not decided: {missing} to come; all 2 cases.")
    slower = row(found, "onnxruntime")
    assert slower.ratio is not None
    assert slower.ratio.value == pytest.approx(1.25, rel=0.02)
    assert note(slower, "boot") == f"too early: {missing} to come"


def test_an_old_stack_that_cannot_come_back_has_no_boots_to_come() -> None:
    """Without a way back, the new stack may begin before the old one has all its boots."""
    phases = Phases(boots("before", OLD_MACHINE)[:3], boots("new", UPGRADED, slower={"onnxruntime": 1.25}))
    found = judge(state("ooonnnnn", begun(boots=BOOTS, one_way=True)).design, phases)
    assert row(found, "onnxruntime").verdict is Verdict.SLOWER


def test_answers_that_moved_are_said_before_the_last_boot() -> None:
    new = boots("new", UPGRADED, lambda each: with_parity(each, "jax", moved))
    found = judge(state("ooooonnnnn", begun(boots=BOOTS)).design, Phases(boots("before", OLD_MACHINE), new))
    assert row(found, "jax").verdict is Verdict.MOVED
    assert found.exit_code == 1


def test_smoke_runs_are_not_judged() -> None:
    found = upgraded(change=lambda each: msgspec.structs.replace(each, labels=("smoke",)))
    assert set(verdicts(found).values()) == {Verdict.UNDECIDED}
    assert found.exit_code == 3


def test_arms_that_are_declared_as_sides_are_compared() -> None:
    versions = [Arm("onnxruntime", "onnxruntime", version=version) for version in ("1.29.0", "1.30.0")]

    def only(version: Arm) -> Change:
        return lambda each: with_arm(each, "onnxruntime", version)

    one = {"backends": ["onnxruntime"]}
    phases = Phases(
        boots("before", OLD_MACHINE, only(versions[0]), **one),
        boots("new", OLD_MACHINE, only(versions[1]), slower={"onnxruntime": 1.25}, **one),
        boots("after", OLD_MACHINE, only(versions[0]), **one),
    )
    found = judge(msgspec.structs.replace(state("", declared()).design, to_come=""), phases)
    (slow,) = found.rows
    assert (slow.old_arm, slow.new_arm, slow.verdict) == ("onnxruntime@1.29.0", "onnxruntime@1.30.0", Verdict.SLOWER)
    assert "a run stands for a boot" in found.notes[0]
    assert found.old.label == "onnxruntime@1.29.0 (5 runs before, 5 after)"
    assert not found.settings


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "junit"])
def test_what_else_changed_stands_before_the_verdicts_in_every_format(name: str) -> None:
    found = upgraded(LOST)
    text = WRITERS[name](found)
    assert 0 < text.index("governor") < text.rindex("not attributable")


def test_junit_has_what_else_changed_first() -> None:
    root = ET.fromstring(WRITERS["junit"](upgraded(LOST)))
    assert [suite.attrib["name"] for suite in root] == ["what else changed", "speed and memory", "numerics"]
    skipped = root[0].find("testcase/skipped")
    assert skipped is not None
    assert "performance → powersave" in skipped.attrib["message"]


LONG = "<b>" * 33_000
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x00"
BIDI = "\u202egnp.exe\u2066\u200f\u2028"
HOSTILE = f"{PAYLOAD}{ESCAPES}{BIDI}`|**x**\n\n# x"
SHELL = "performance; touch owned `touch owned` $(touch owned)"


def _boots(phase: str, *, new: bool) -> list[Reduced]:
    """Three boots whose machine says the worst of itself, each side something else, read as records are."""
    side = "new" if new else "old"
    facts: dict[str, dict[str, str]] = {
        f"group {HOSTILE}": {HOSTILE: f"{side}{HOSTILE}", "long": f"{side}{LONG}", f"long {LONG}": side},
        f"group {LONG}": {"long": side},
        "kernel": {
            "release": f"{side}{HOSTILE}",
            "boot parameters": f"quiet {side}{PAYLOAD}={ESCAPES}{BIDI} isolcpus={side}{LONG} {LONG}={side}",
        },
        "gpu": {f"device 0 {HOSTILE} power limit mW": f"{side}{SHELL}", "driver": f"{side}{LONG}"},
        "clock": {"governor": "powersave" if new else SHELL, "boost": f"{side}{SHELL}\n{LONG}"},
        "memory": {"swappiness": "60" if new else SHELL, "transparent huge pages": f"{side}{SHELL}"},
    }
    records = (with_machine(run(f"{phase}-{number}", number, generations=2), **facts) for number in range(3))
    return [reduced(files.decode(msgspec.json.encode(record), "The record")) for record in records]


@cache
def hostile() -> Comparison:
    phases = Phases(_boots("before", new=False), _boots("new", new=True), _boots("after", new=False))
    return judge(DESIGN, phases, (f"{HOSTILE}*",))


@pytest.mark.parametrize("name", list(WRITERS))
def test_no_format_passes_anything_on(name: str) -> None:
    found = hostile()
    assert len(found.settings) > 8
    text = WRITERS[name](found)
    assert not set(text) & set("\x1b\x07\x9b\x00\u202e\u2066\u200f\u2028")
    assert LONG not in text or name == "json"
    assert len(text) < (1_000_000 if name == "json" else 200_000)  # programs get the names of facts that changed whole


def test_the_page_shows_the_settings_as_text() -> None:
    page = Page(html.write(hostile()))
    drawn = [
        svg for svg in page.all("svg")[1:] if svg.keys() != {"class", "height", "width"} or svg["class"] != "track"
    ]
    assert not page.all("script") + page.all("img") + drawn + page.all("b")
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
    assert "<script>window.owned=1</script>" in page.text
    assert "{{7*7}}" in page.text
    assert "…" in page.text


def test_settings_are_of_bounded_length() -> None:
    for setting in hostile().settings:
        assert max(len(getattr(setting, name)) for name in setting.__struct_fields__) <= 1000
