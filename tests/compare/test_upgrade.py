"""Verdicts on upgrades from synthetic runs: what is said of each case, of what else changed, and of the whole."""

import operator

import msgspec
import pytest

from levelfield.analysis.summary import Reduced
from levelfield.analysis.types import WindowsOf
from levelfield.compare.formats import WRITERS
from levelfield.compare.phrases import note
from levelfield.compare.types import Comparison, Verdict
from levelfield.compare.upgrade import Phases, judge
from levelfield.record.schema import Arm, Failure, Parity
from tests.compare.runs import row, with_arm, with_parity
from tests.compare.upgrades import BOOTS, DESIGN, LOST, OLD_MACHINE, UPGRADED, Change, boots, upgraded
from tests.known import known
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
    assert known(slow.ratio).value == pytest.approx(1.25, rel=0.02)
    assert known(slow.drift).value == pytest.approx(1.0, rel=0.02)
    assert row(found, "jax").verdict is Verdict.SAFE
    assert found.exit_code == 1
    assert found.answer.startswith("Not safe: of 2 cases, 1 slower, 1 safe within 2")


def test_an_upgrade_that_mends_every_answer_is_safe_and_compares_no_time_with_a_wrong_one() -> None:
    def wrong(found: Parity) -> Parity:
        return msgspec.structs.replace(found, equal=False, reason="relative error 4.6e-02 is over 1e-05")

    before, after = (
        boots(phase, OLD_MACHINE, lambda each: with_parity(each, "onnxruntime", wrong)) for phase in ("before", "after")
    )
    found = judge(DESIGN, Phases(before, boots("new", UPGRADED), after))
    mended = row(found, "onnxruntime")
    assert (mended.verdict, mended.outcome, mended.ratio) == (Verdict.MENDED, "fine", None)
    assert row(found, "jax").verdict is Verdict.SAFE
    assert found.exit_code == 0
    assert found.answer.startswith("Safe: of 2 cases, 1 safe within 2.0\N{NO-BREAK SPACE}%, 1 with a wrong old answer.")


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
    assert slow.reason.startswith(
        "the machine was calm in 2, rarely calm in 2, contended throughout in 1; then calm in 5"
    )


def test_too_few_runs_say_how_many_would_decide() -> None:
    phases = Phases(boots("before", OLD_MACHINE)[:2], boots("new", UPGRADED)[:2], boots("after", OLD_MACHINE)[:2])
    found = judge(msgspec.structs.replace(DESIGN, replicate="run"), phases)
    assert "3 runs in each phase would decide (`--boots 3`)" in found.answer
    assert found.method.startswith("Runs are the replicates.")


def test_an_old_stack_that_fails_afterwards_is_no_upgrade_without_a_way_back() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    before, new = boots("before", OLD_MACHINE), boots("new", UPGRADED)
    broken = boots("after", OLD_MACHINE, failures={("onnxruntime", "mlp"): crash})
    after = row(judge(DESIGN, Phases(before, new, broken)), "onnxruntime")
    assert (after.outcome, after.reason.partition(":")[0]) == ("undecided", "the old stack gave no result afterwards")
    some = boots("new", UPGRADED)[:3] + [
        msgspec.structs.replace(each, answers={key: one for key, one in each.answers.items() if key[0] == "jax"})
        for each in new[3:]
    ]
    lacking = row(judge(DESIGN, Phases(before, some, boots("after", OLD_MACHINE))), "onnxruntime")
    assert (lacking.outcome, lacking.reason) == ("undecided", "of the new stack only 3 of 5 runs have a result")


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
    assert upgraded(LOST, change=lambda each: with_parity(each, "jax", moved)).exit_code == 3


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
    assert known(slower.ratio).value == pytest.approx(1.25, rel=0.02)
    assert note(slower, "boot") == f"too early: {missing} to come"


def test_old_answers_that_were_wrong_make_no_boot_superfluous() -> None:
    before, after = (
        [
            msgspec.structs.replace(
                boot,
                answers={key: msgspec.structs.replace(each, standing="unequal") for key, each in boot.answers.items()},
            )
            for boot in boots(name, OLD_MACHINE)
        ]
        for name in ("before", "after")
    )
    assert judge(DESIGN, Phases(before, boots("new", UPGRADED), after)).exit_code == 0
    early = msgspec.structs.replace(DESIGN, to_come="2 boots of the phase after")
    assert judge(early, Phases(before, boots("new", UPGRADED), after)).exit_code == 3
    assert judge(DESIGN, Phases(before, boots("new", LOST), after)).exit_code == 3


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
    text = WRITERS[name](upgraded(LOST))
    assert 0 < text.index("governor") < text.rindex("not attributable")
