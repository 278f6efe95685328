"""Figures of docs/fleet.md: what simulated fleets were called, and what was found in them."""

from functools import cache, partial

from studies import flipped_bit
from studies.fleet.record import Record
from studies.fleet_whole import record as whole
from studies.record import read
from suite.plan import CANARY
from suite.statistics.peers import FEWEST_PEERS
from suite.statistics.proportions import Proportion
from tests.figures import prints
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/fleet.md"
SPREADS = (0.01, 0.0125, 0.015, 0.02, 0.03)
COLUMNS = (0.003, 0.005, 0.01, 0.02, 0.03)
NODES = (4, 8, 16, 32, 100)


@cache
def _record() -> Record:
    return read(TRIALS / "fleet-2026-11-25.json", Record)


def _share(found: Proportion, digits: int) -> list[str]:
    return [f"{100 * each:.{digits}f}" for each in (found.share, found.low, found.high)]


def _alike() -> list[object]:
    worst = max((each.flagged for each in _record().alike), key=lambda found: found.share)
    return [*_share(worst, 2), len(_record().alike), max(each.flagged.trials for each in _record().alike)]


def _found(spread: float) -> list[object]:
    found = [each for each in _record().one_slow if each.setting.node_sd == spread]
    assert len(found) == 8
    assert all(each.setting.nodes == 100 and each.setting.effect == 0.1 for each in found)
    least = min((each.found for each in found if each.found is not None), key=lambda each: each.share)
    return [f"{100 * spread:g}", *_share(least, 1)]


def _finds(nodes: int) -> list[object]:
    found = {each.node_sd: each.finds for each in _record().finds if each.nodes == nodes}
    sizes = [found[spread] or 0 for spread in COLUMNS]
    assert all(sizes)
    return [nodes, *(f"{100 * size:.1f}" if size < 1 else f"{100 * size:.0f}" for size in sizes)]


def _fewest() -> list[object]:
    return [prints.in_words(FEWEST_PEERS + 1).capitalize()]


@cache
def _flips() -> flipped_bit.Record:
    return read(TRIALS / "fleet-flipped-bit-2026-11-25.json", flipped_bit.Record)


def _flipped() -> list[object]:
    made, judged = _flips(), _flips().judged
    unlike = sum(each.unlike_hardware == "nobody named" for each in judged)
    transient = sum(each.transient_named for each in judged)
    return [len(made.flips), len(made.flips) - len(judged), len(judged), made.right, unlike, transient]


@cache
def _whole() -> whole.Record:
    return read(TRIALS / "fleet-whole-2026-11-25.json", whole.Record)


def _killed() -> list[object]:
    killed = (_whole().node, _whole().head)
    assert all(each.resumed for each in killed)
    lost, kept, left = (sum(getattr(each, name) for each in killed) for name in ("lost", "kept", "left"))
    return [
        lost + kept,
        lost,
        left,
        *(sum(getattr(each, name) for each in killed) for name in ("undisturbed", "others")),
    ]


def _arrived() -> list[object]:
    seen = _whole().bundle
    refused = {each.statement: each.holds for each in _whole().findings if "is refused" in each.statement}
    assert list(refused.values()) == [True, True]
    return [seen.wheels_right, seen.wheels_needed, seen.records, seen.nodes]


def _slowed() -> list[object]:
    seen = _whole().replay
    small, large = (float(each) for each in seen.paired)

    def counted(effect: float, kind: whole.Kind) -> list[object]:
        fleets = seen.of(effect, kind)
        return [sum(each.found for each in fleets), len(fleets)]

    (scatter,) = (sd for name, sd in seen.scatter.items() if name != CANARY)
    return [
        seen.nodes, seen.runs_each, f"{100 * seen.node_sd:g}",
        f"{100 * small:g}", *counted(small, "as measured"), f"{100 * large:g}", *counted(large, "as measured"),
        f"{100 * scatter:.1f}", *counted(small, "drift taken off"), *counted(large, "drift taken off"),
    ]  # fmt: skip


def _relative_to_canary() -> list[object]:
    assert all(each.paired.found is not None and each.paired.found.successes == 0 for each in _record().whole_node)
    return []


FIGURES = [
    Figure(PAGE, "The level of {} % is divided", lambda: [f"{100 * _record().level:g}"]),
    Figure(
        PAGE,
        "slow or fast in {} % ({}–{}) in the worst of {} settings, of {} fleets each at most",
        _alike,
    ),
    *(Figure(PAGE, "| {} % | {} % ({}–{}) |", partial(_found, spread)) for spread in SPREADS),
    Figure(
        PAGE,
        "| nodes | spread {} % | {} % | {} % | {} % | {} % |",
        lambda: [f"{100 * spread:g}" for spread in COLUMNS],
    ),
    *(Figure(PAGE, "| {} | {} % | {} % | {} % | {} % | {} % |", partial(_finds, nodes)) for nodes in NODES),
    Figure(
        PAGE,
        "{} like nodes are the fewest that get a verdict",
        lambda: [prints.in_words(FEWEST_PEERS + 1).capitalize()],
    ),
    Figure(PAGE, "layers of that worker are those of one node of {};", lambda: [_flips().nodes]),
    Figure(
        PAGE,
        "Of {} flips, {} left the output the same to the last bit, so that there is nothing to find. Of the other {}, "
        "the node was named alone and with the right layer in {}, and nobody was named where its hardware was unlike "
        "in {}. Where the second test was right, it was still named in {}.",
        _flipped,
    ),
    Figure(
        PAGE,
        "Of {} windows of finished rounds, {} were lost; {} processes or containers were left behind; {} of {} runs of "
        "other nodes were undisturbed",
        _killed,
    ),
    Figure(
        PAGE,
        "{} of {} wheels arrived with the SHA-256 of their locks, and {} of {} runs were made from them",
        _arrived,
    ),
    Figure(
        PAGE,
        "fleets of {} nodes with {} runs each, whose nodes differ by {} %. A node that was really slowed down by {} % "
        "was called slow in {} of {} fleets, and by {} % in {} of {}: runs on that shared machine scattered by {} %. "
        "With its drift taken off, it was called slow in {} of {} and {} of {}",
        _slowed,
    ),
    Figure(PAGE, "Relative to the canary, no such node would be found", _relative_to_canary),
]
