"""Figures that rest on released versions: their classes by a bare loop, and what `ab` made of the frozen pairs."""

import statistics
from collections import Counter
from functools import cache

from studies.record import read
from studies.regressions.record import DIFFERENT, Classes, Outcome, Record, Summary, summary
from studies.regressions.rule import Class
from tests.figures import prints
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

ERRORS, METHOD = "docs/error-rates.md", "docs/method.md"


@cache
def _classes() -> Classes:
    return read(TRIALS / "regressions-classes-2026-11-24.json", Classes)


@cache
def _outcomes() -> tuple[Outcome, ...]:
    return read(TRIALS / "regressions-2026-11-24.json", Record).outcomes


def _summary() -> Summary:
    """Count anew; every pair that is not right is told by the page."""
    found = summary(_outcomes())
    assert found.wrong_direction == 0
    return found


def _changed() -> list[Outcome]:
    return [each for each in _outcomes() if each.frozen.class_ is not Class.UNCHANGED]


def _unchanged() -> list[Outcome]:
    return [each for each in _outcomes() if each.frozen.class_ is Class.UNCHANGED]


def _median_s(outcomes: list[Outcome]) -> str:
    return f"{statistics.median(each.seconds for each in outcomes):.0f}"


def _longest_s(outcomes: list[Outcome]) -> str:
    return f"{max(each.seconds for each in outcomes):.0f}"


def _found() -> list[object]:
    found = _summary().found
    assert found is not None
    return [prints.of(found), prints.share(found), _median_s(_changed()), _longest_s(_changed())]


def _alarms() -> list[object]:
    alarms = _summary().false_alarms
    assert alarms is not None
    outcomes = _unchanged()
    return [prints.of(alarms), prints.share(alarms), _summary().shown_same, _median_s(outcomes), _longest_s(outcomes)]


def _range() -> list[object]:
    """Return the smallest and the largest change by the bare loop, as factors of at least one."""
    factors = sorted(max(each.frozen.ratio, 1 / each.frozen.ratio) for each in _changed())
    return [f"{100 * (factors[0] - 1):.0f}", f"{factors[-1]:.0f}"]


def _bert() -> list[object]:
    (found,) = [each for each in _outcomes() if each.pair.name == "bert-1.30"]
    assert found.verdict in DIFFERENT
    assert found.low is not None
    assert found.high is not None
    bare = found.frozen
    return [
        *(f"{value:.3f}" for value in (found.ratio, found.low, found.high)),
        f"{found.seconds:.0f}",
        *(f"{value:.3f}" for value in (bare.ratio, bare.low, bare.high)),
    ]


def _false_alarm() -> list[object]:
    """Return the only verdict of a difference where the bare loop finds none."""
    (found,) = [each for each in _unchanged() if each.verdict in DIFFERENT]
    assert found.pair.name == "same-conv-depthwise-1.22"
    assert found.low is not None
    assert found.high is not None
    return [found.pair.old, found.pair.new, *(f"{value:.4f}" for value in (found.ratio, found.low, found.high))]


def _classified() -> list[object]:
    counted = Counter(each.found.name for each in _classes().pairs if each.found is not None)
    differ = counted[Class.SLOWER] + counted[Class.FASTER]
    return [len(_classes().pairs), differ, counted[Class.UNCHANGED], counted[Class.UNDECIDED]]


def _claims() -> list[object]:
    """Return what became of the claims that a version is slower."""
    claimed = [each for each in _classes().pairs if each.pair.claim == "slower" and each.found is not None]
    counted = Counter(each.found.name for each in claimed if each.found is not None)
    return [
        len(claimed),
        counted[Class.SLOWER],
        counted[Class.FASTER],
        counted[Class.UNCHANGED],
        counted[Class.UNDECIDED],
    ]


def _bare(name: str) -> list[object]:
    """Return the new version without its patch number, and its ratio by the bare loop."""
    (measured,) = [each for each in _classes().pairs if each.pair.name == name]
    found = measured.found
    assert found is not None
    return [measured.pair.new.rpartition(".")[0], *(f"{value:.2f}" for value in (found.ratio, found.low, found.high))]


def outcome(name: str) -> Outcome:
    """Return what `ab` said of one pair."""
    (found,) = [each for each in _outcomes() if each.pair.name == name]
    return found


def _right() -> list[object]:
    found = _summary()
    assert found.found is not None
    return [found.found.successes + found.shown_same, len(_outcomes())]


def _wrong() -> list[object]:
    wrong = outcome("same-conv-depthwise-1.22")
    bare = [f"{value:.3f}" for value in (wrong.frozen.ratio, wrong.frozen.low, wrong.frozen.high)]
    return [*bare, f"{wrong.seconds:.0f}", f"{wrong.high:.4f}"]


def _alarm_rate() -> list[object]:
    alarms = _summary().false_alarms
    assert alarms is not None
    assert alarms.successes == 1
    return [alarms.trials, alarms.trials, f"{100 * alarms.high:.0f}"]


def _allowed() -> list[object]:
    bare = outcome("same-conv-depthwise-1.22").frozen
    return [f"{100 * max(bare.high - 1, 1 - bare.low):.1f}"]


def _hardmax() -> list[object]:
    found = outcome("hardmax-1.19")
    assert found.low is not None
    assert found.high is not None
    return [
        found.pair.new,
        f"{found.seconds:.0f}",
        *(f"{value:.3f}" for value in (found.ratio, found.low, found.high)),
        *(f"{value:.3f}" for value in (found.frozen.ratio, found.frozen.low, found.frozen.high)),
    ]


FIGURES = [
    Figure(
        ERRORS,
        "Of released versions whose speed differs, `ab` with its default budget found {} in the right direction "
        "({} %), in {} s a pair (median; {} s at the most)",
        _found,
    ),
    Figure(
        ERRORS,
        "Where nothing changed it called {} different ({} %) and {} the same, in {} s (median; {} s at the most)",
        _alarms,
    ),
    Figure(ERRORS, "The changes are of {} % to a factor of {}", _range),
    Figure(
        ERRORS,
        "slower, {} ({}–{}) in {} s, where the bare loop says {} ({}–{})",
        _bert,
    ),
    Figure("docs/upgrade.md", "it says *slower*, {} ({}–{}), in {} s", lambda: _bert()[:4]),
    Figure(ERRORS, "The false alarm is a depthwise convolution, ONNX Runtime {} → {}: {} ({}–{})", _false_alarm),
    Figure(
        METHOD,
        "Of {} candidates, {} differ here, {} are unchanged and {} undecided",
        _classified,
    ),
    Figure(
        METHOD,
        "Of {} pairs whose source says slower, {} are slower here, {} faster, {} unchanged and {} undecided",
        _claims,
    ),
    Figure(METHOD, "Selu of ONNX Runtime {} takes {} ({}–{}) of the time", lambda: _bare("selu-1.21")),
    Figure(METHOD, "TreeEnsembleRegressor of {} takes {} ({}–{}) times as long", lambda: _bare("tree-ensemble-1.23")),
    Figure(METHOD, "a GRU of single steps of {} {} ({}–{})", lambda: _bare("gru-step-1.21")),
    Figure(METHOD, "`ab` was right about {} of the {} frozen pairs", _right),
    Figure(
        METHOD,
        "calls unchanged, {} ({}–{}), and `ab` calls faster after {} s, with an interval that ends at {}",
        _wrong,
    ),
    Figure(
        METHOD,
        "One false alarm in {} pairs is more than the level of `ab` lets expect, and one of {} says no more than "
        "that the rate is below {} %",
        _alarm_rate,
    ),
    Figure(METHOD, "The class itself allows a true difference of up to {} %", _allowed),
    Figure(
        METHOD,
        "Hardmax of {}, took {} s, and `ab` estimates it at {} ({}–{}) where the bare loop says {} ({}–{})",
        _hardmax,
    ),
]
