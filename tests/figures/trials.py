"""Figures that rest on the records of trials: how often rules are wrong, released versions, a published comparison."""

import itertools
import statistics
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from studies.rigor.races import races
from studies.rigor.record import Finding
from studies.rigor.show import table_lines
from studies.rigor.table import lay_out
from suite.compare.types import Movement
from suite.run.explain.difference import Difference
from suite.statistics.levels import levels_of_windows
from suite.statistics.proportions import Proportion, proportion
from suite.statistics.stopping import DEFAULT_TARGET
from suite.statistics.student import MIN_LAUNCHES
from suite.statistics.undisturbed import counted_rounds
from tests.figures import prints, records
from tests.figures.checking import Figure
from tests.figures.records import BUSY, BUSY_AGAIN, PAIR, QUIET

ERRORS, METHOD, FOLKLORE_PAGE = "docs/error-rates.md", "docs/method.md", "docs/published-comparison.md"
TARGET = f"{100 * DEFAULT_TARGET:g}"
EFFECTS = (0.02, 0.05)


def _percents() -> list[int]:
    return [round(100 * effect) for effect in EFFECTS]


def _rows(stream: str) -> list[Figure]:
    """Bind every row of a stream's table as a whole; the first row under the heading is its alignment."""
    return [
        Figure(ERRORS, "{}", partial(_line, stream, number))
        for number in range(len(table_lines(records.stream(stream).findings)))
        if number != 1
    ]


def _line(stream: str, number: int) -> list[object]:
    return [table_lines(records.stream(stream).findings)[number]]


def _stream(name: str) -> list[object]:
    """Return the launches of a stream, and its minutes."""
    found = records.stream(name)
    launches = found.setup.arms * len(found.generations)
    return [f"{launches:,}".replace(",", " "), prints.minutes(found.started, found.updated)]


_AB, _BENCH, _BENCH_TEN = "ab --budget", f"bench, {MIN_LAUNCHES} launches", f"bench, {2 * MIN_LAUNCHES} launches"


def _called(finding: Finding) -> Proportion:
    wanted = records.tally(finding, 0.0).wanted
    assert wanted is not None
    assert wanted.successes == 0
    return wanted


def _none_called() -> list[object]:
    ab, bench = (_called(records.rule(QUIET, name)) for name in (_AB, _BENCH))
    return [prints.of(ab), f"{100 * ab.high:.0f}", prints.of(bench), f"{100 * bench.high:.1f}"]


def _all_count(disturbed: list[list[bool]]) -> list[list[bool]]:
    """Count a generation without a calm round as any other."""
    return [[not each for each in rounds] if not all(rounds) else [True] * len(rounds) for rounds in disturbed]


def _spread_of_pairs(stream: str) -> list[object]:
    """Return the standard deviation of a pair's log ratio in percent, with all generations and by the rule."""
    table = lay_out(records.stream(stream).generations)
    found: list[object] = []
    for counts in (_all_count, counted_rounds):
        variances = []
        for lane in range(table.lanes):
            windows = np.log(table.median_ns[:, :, 2 * lane : 2 * lane + 2])
            kept = np.array(counts(table.disturbed[:, :, lane].tolist()), dtype=bool)
            windows[~kept] = np.nan
            levels = levels_of_windows(windows)[kept.any(axis=1)]
            variances.append(np.var(levels[:, 1] - levels[:, 0], ddof=1))
        found.append(f"{100 * np.sqrt(np.mean(variances)):.0f}")
    return found


def _called_again() -> list[object]:
    """Return how many identical arms the second busy stream called different, by rule; its intervals hold the level."""
    counts: list[object] = []
    for name, level in ((_AB, 0.01), (_BENCH, 0.05), (_BENCH_TEN, 0.05)):
        wanted = records.tally(records.rule(BUSY_AGAIN, name), 0.0).wanted
        assert wanted is not None
        assert wanted.low <= level
        counts.append(prints.of(wanted))
    ab, five, ten = counts
    return [ab, five, prints.in_words(MIN_LAUNCHES), ten, prints.in_words(2 * MIN_LAUNCHES)]


def _busy_effects() -> list[object]:
    counts: list[object] = []
    for stream in (BUSY_AGAIN, BUSY):
        for effect in reversed(EFFECTS):
            wanted = records.tally(records.rule(stream, _AB), effect).wanted
            assert wanted is not None
            counts.append(prints.of(wanted))
    assert not records.tally(records.rule(BUSY_AGAIN, _AB), 0.0).same
    small, large = _percents()
    return [large, counts[0], small, *counts[1:]]


def _variance() -> list[object]:
    found = records.variance(QUIET)
    assert found.covariate is not None
    return [
        f"{100 * found.pair_window_sd:.1f}",
        f"{100 * found.pair_launch_sd:.1f}",
        f"{100 * (1 - found.covariate.variance_ratio):.1f}",
    ]


def _races() -> list[object]:
    arms = 6
    names = (QUIET, BUSY, BUSY_AGAIN)
    found = [each for name in names for each in races(lay_out(records.stream(name).generations), [1.0] * arms)]
    wrong = sum(each.wrong or bool(each.left) for each in found)
    bounds = prints.share(proportion(wrong, len(found)))
    return [len(found), prints.in_words(arms), prints.in_words(len(names) - 1), wrong, bounds]


def _rejudged() -> list[object]:
    ab = records.rule(QUIET, _AB)
    still, two = records.tally(ab, 0.0), records.tally(ab, 0.02)
    bench = _called(records.rule(QUIET, _BENCH))
    assert ab.seconds is not None
    return [
        bench.trials, prints.in_words(MIN_LAUNCHES), _called(ab).trials, still.same, 2, prints.of(two.wanted),
        f"{ab.seconds:.0f}",
    ]  # fmt: skip


def _between() -> list[object]:
    """Return what the stream of two frameworks says of drift, and of identical arms."""
    between = records.stream(PAIR).between
    assert between is not None
    five = next(each for each in between.coverages if (each.launches, each.confidence) == (MIN_LAUNCHES, 0.95))
    named = [records.rule(PAIR, name) for name in (_BENCH, "bench, 10 launches")]
    called = [wanted for each in named if (wanted := records.tally(each, 0.0).wanted) is not None]
    assert {records.tally(each, 0.0).same for each in named} == {0}
    largest = max(map(abs, between.single))
    assert largest < between.reach
    return [
        *_stream(PAIR),
        len(between.single), f"{largest:.2f}", f"{between.reach:.2f}",
        95, prints.in_words(MIN_LAUNCHES), f"{100 * five.implied:.0f}", f"{100 * five.implied_least:.0f}",
        five.intervals, five.held,
        prints.of(called[0]), prints.in_words(MIN_LAUNCHES), prints.of(called[1]), "ten",
        f"{100 * between.pair_sd:.0f}", 5, prints.of(records.tally(named[1], 0.05).wanted),
    ]  # fmt: skip


RIGOR = [
    Figure(
        ERRORS,
        "Identical ResNet-50 workers of ONNX Runtime on a shared {}-core virtual machine, {} launches in {} minutes",
        lambda: [records.stream(QUIET).machine["cpu"]["cores"], *_stream(QUIET)],
    ),
    *_rows(QUIET),
    *_rows(BUSY),
    Figure(ERRORS, "{} leaves up to {} % possible, {} up to {} %", _none_called),
    Figure(ERRORS, "the same took {} launches in {} minutes", lambda: _stream(BUSY)),
    Figure(ERRORS, "({} launches in {} minutes, other guests", lambda: _stream(BUSY_AGAIN)),
    Figure(ERRORS, "called {} different by `ab`, {} by `bench` after {} launches and {} after {}", _called_again),
    Figure(
        ERRORS, "`ab` found +{} % in {} and +{} % in {} cases, where the first stream has {} and {},", _busy_effects
    ),
    Figure(
        METHOD,
        "standard deviation of a pair's log ratio from {} % to {} % in the stream that taught it, and "
        "from {} % to {} % in one of another day",
        lambda: [*_spread_of_pairs(BUSY), *_spread_of_pairs(BUSY_AGAIN)],
    ),
    Figure(
        METHOD,
        "among {} decisions on identical arms after {} launches each, none called them different; `ab` called none of "
        "{} different and {} of them the same, and found +{} % in {}, in {} s a pair",
        _rejudged,
    ),
    Figure(
        METHOD,
        "between windows ({} % of a call within a pair of neighbours), and hardly between launches ({} %); the canary "
        "as a covariate explained {} % of it",
        _variance,
    ),
    Figure(
        METHOD,
        "Among {} races of {} identical workers each, cut from the [published streams](error-rates.md#how-often-is-it-"
        "wrong), one of them quiet and {} busy, {} called one worker faster than another, or let one leave ({} %)",
        _races,
    ),
    Figure(
        METHOD,
        "ResNet-50, {} launches in {} minutes) shows no drift between the frameworks: the autocorrelations of single "
        "pairs of launches at {} lags lie within ±{}, where ±{} is expected of none. They imply that {} % intervals of "
        "{} launches cover {} %, and {} % where every autocorrelation is at the upper end of its interval; of {} such "
        "intervals, {} held the mean of the stream. Of identical arms, `bench` called {} different after {} launches "
        "and {} after {}. It was no quiet machine: the ratio of a pair of launches had a standard deviation of {} %, "
        "so nothing was called the same, and +{} % was found in {}",
        _between,
    ),
]


SMALL, LARGE = "upgrades-2026-11-24-2pct", "upgrades-2026-11-24-10pct"


def found_in(name: str, kind: str) -> list[object]:
    """Return how often, its interval in percent, and the median seconds of a trial."""
    seconds = [trial.seconds for trial in records.upgrades(name).trials if trial.kind == kind]
    return [*_trials(name, kind)[:2], round(statistics.median(seconds))]


def _same() -> list[object]:
    """Return the same of equal arms: all were called the same, and so none was called different."""
    found = records.counted(SMALL)["same"]
    assert set(found.verdicts) == {"same"}
    equal = proportion(found.verdicts["same"], found.by_trial.trials)
    return [f"{equal.successes} of {equal.trials}", prints.share(equal), found_in(SMALL, "same")[2]]


def _effect(name: str) -> str:
    return records.upgrades(name).settings["effect"].removesuffix("%")


def _operators() -> list[object]:
    (found,) = msgspec.json.decode(Path("reports/trials/operators-2026-11-24.json").read_bytes(), type=list[Difference])
    assert (found.old, found.new) == ("onnxruntime@1.29.0", "onnxruntime@1.30.0")
    (moved,) = [change for change in found.operators if change.differs]
    assert moved.name == "SkipLayerNormalization"
    signed = [(each.difference_us, each.low_us, each.high_us) for each in (moved, found.call)]
    return [f"{moved.new_us:.0f}", f"{moved.old_us:.0f}", *(f"{value:.0f}" for each in signed for value in each)]


VERDICTS = [
    Figure(
        ERRORS,
        "the same version against itself was called the same in {} trials ({} %), in {} s a trial (median); an "
        "injected {} % was found in {} ({} %), in {} s",
        lambda: [*_same(), _effect(SMALL), *found_in(SMALL, "injected")],
    ),
    Figure(ERRORS, "and {} % in {} ({} %), in {} s", lambda: [_effect(LARGE), *found_in(LARGE, "injected")]),
    Figure(
        ERRORS,
        "`SkipLayerNormalization` takes {} µs of a call instead of {}, which is +{} µs (+{} to +{}) of the call's "
        "+{} µs (+{} to +{})",
        _operators,
    ),
]


LONG, SHORT = "upgrades-2026-11-22-75s", "upgrades-2026-11-22"


def _trials(name: str, kind: str) -> list[object]:
    """Return how often, of how many trials, its interval in percent, and the minutes they took."""
    found = records.counted(name)[kind]
    share = found.by_trial
    return [f"{share.successes} of {share.trials}", prints.share(share), round(found.seconds / 60)]


def _half_a_minute() -> list[object]:
    same = _trials(SHORT, "same")
    assert set(records.counted(SHORT)["same"].verdicts) == {"inconclusive"}
    assert float(records.upgrades(SHORT).settings["budget_seconds"]) < 45
    effect = records.upgrades(SHORT).settings["effect"].removesuffix("%")
    return [*same, effect, *_trials(SHORT, "injected"), "half a"]


def _upgrade_answers() -> tuple[int, int]:
    """Return how many answers there are, and how many are identical; the others moved within rounding, on BERT."""
    upgrades = [trial for trial in records.upgrades(SHORT).trials if trial.kind == "upgrade"]
    moves = [move for trial in upgrades for move in trial.moves]
    moved = {move.movement for move in moves} - {Movement.IDENTICAL}
    assert moved == {Movement.WITHIN}, moved
    return len(moves), sum(move.movement is Movement.IDENTICAL for move in moves)


def _chain() -> list[object]:
    """Return the first and the last version of either framework; every trial is against the next."""
    trials = [trial for trial in records.upgrades(SHORT).trials if trial.kind == "upgrade"]
    found: list[object] = []
    for name, count in (("onnxruntime", 5), ("openvino", 4)):
        pairs = [(each.old, each.new) for each in trials if each.old.startswith(name)]
        assert all(before[1] == after[0] for before, after in itertools.pairwise(pairs))
        assert len(pairs) == count - 1
        found += [pairs[0][0].partition("@")[2], pairs[-1][1].partition("@")[2]]
    return found


def _answers_moved() -> list[object]:
    upgrades = [trial for trial in records.upgrades(SHORT).trials if trial.kind == "upgrade"]
    pairs = [
        (trial.old, trial.new, move.answer)
        for trial in upgrades
        for move in trial.moves
        if move.movement is not Movement.IDENTICAL
    ]
    assert all("bert" in answer for _, _, answer in pairs)
    return [version.partition("@")[2] for old, new, _ in pairs for version in (old, new)]


UPGRADES = [
    Figure(
        ERRORS,
        "the same version against itself was called different in {} trials ({} %) and undecided in all, in {} minutes; "
        "an injected {} % was found in {} ({} %), in {} minutes: {} minute is too short there",
        _half_a_minute,
    ),
    Figure(
        ERRORS,
        "Given {} s each, some hours later on the same machine, it was found in {} ({} %), and the same version called "
        "different in {} ({} %;",
        lambda: [
            round(float(records.upgrades(LONG).settings["budget_seconds"])),
            *_trials(LONG, "injected")[:2],
            *_trials(LONG, "same")[:2],
        ],
    ),
    Figure(
        ERRORS,
        "on a quiet machine in {}, in [{} s each]",
        lambda: [
            prints.of(records.tally(records.rule(QUIET, _AB), 0.05).wanted),
            f"{records.rule(QUIET, _AB).seconds:.0f}",
        ],
    ),
    Figure(ERRORS, "versions of ONNX Runtime ({} to {}) and four of OpenVINO ({} to {})", _chain),
    Figure(ERRORS, "Of the {} answers {} are identical bit by bit", _upgrade_answers),
    Figure(ERRORS, "the two others (BERT, ONNX Runtime {} → {} and {} → {})", _answers_moved),
]


def _published_row(title: str) -> list[object]:
    row = records.rejudged()[title]
    cells: list[object] = [f"{row.published_ms:.2f}"]
    for standing in (row.published, row.fairly):
        value, unit, low, high = prints.time(standing.ns)
        cells.append(f"{value} {unit} ({low}–{high}), {_rank(standing.rank)}")
    return cells


def _rank(rank: int | None) -> str:
    return f"rank {rank}" if rank is not None else "no rank"


def _disturbed() -> list[object]:
    rounds = [one for generation in records.folklore().generations for one in generation.rounds]
    return [f"{sum(bool(one.disturbed) for one in rounds)} of {len(rounds)}"]


def _openvino_gains() -> list[object]:
    row = records.rejudged()["OpenVINO"]
    assert row.published.rank is None  # its answer is not equal there
    assert row.fairly.rank == 1
    return [*prints.ratio(row.factor, 0)]


FOLKLORE = [
    *(
        Figure(FOLKLORE_PAGE, f"| {title} | {{}} ms | {{}} | {{}} |", partial(_published_row, title))
        for title in ("PyTorch", "TensorFlow", "JAX", "ONNX Runtime", "OpenVINO")
    ),
    Figure(
        FOLKLORE_PAGE,
        "runs it as its script does, and fairly, in {} minutes",
        lambda: [prints.in_words(prints.minutes(records.folklore().started, records.folklore().finished))],
    ),
    Figure(FOLKLORE_PAGE, "it is {} times ({}–{}) faster when it gets the batch in one call", _openvino_gains),
    Figure(FOLKLORE_PAGE, "({} rounds were disturbed from outside)", _disturbed),
]


def _images() -> list[object]:
    found = records.rebuilt().images
    assert all(each.same for each in found)
    return [prints.in_words(len(found))]


IMAGES = [
    Figure("docs/how-it-works.md", "gave the same layers for all {}, on one machine", _images),
    *(
        Figure(
            page,
            "(the {} images are {} GB)",
            lambda: [*_images(), f"{sum(each.size_bytes for each in records.rebuilt().images) / 1e9:.1f}"],
        )
        for page in ("README.md", "docs/install.md")
    ),
]

FIGURES = [*RIGOR, *UPGRADES, *VERDICTS, *FOLKLORE, *IMAGES]
