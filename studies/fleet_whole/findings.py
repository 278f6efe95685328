"""What the trial of a whole fleet was made to check, and whether it holds."""

from collections.abc import Iterator

from studies.fleet_whole.record import Arrived, Finding, Killed, Record, Replay, Whole
from suite.report import units
from suite.report.markdown import interval
from suite.report.units import plural

NODES = 3
_BEFORE, _LONGEST = 80, 240
"""Characters of a sentence that are shown before what it is about, and in all."""
UNDECIDED = 3
"""Exit code: of three like nodes, each has too few peers for a verdict."""
REFUSED = (
    ("a node with an empty cache, no index and no bundle can make nothing", "could not fetch the locked wheels"),
    ("a bundle with one changed byte is refused by its SHA-256", "The bundle that arrived here has the SHA-256"),
    ("sent under a SHA-256 of its own, it is refused by its manifest", "is not the file that its manifest names"),
)


def find(made: Record) -> tuple[Finding, ...]:
    """Check every statement.

    Parameters
    ----------
    made
        The record, without findings.
    """
    return (
        *_whole(made.whole),
        *_killed(made.node),
        *_killed(made.head),
        *_slowed(made.replay),
        *_arrived(made.bundle),
    )


def _whole(seen: Whole) -> Iterator[Finding]:
    yield Finding(
        f"the plan is placed on {NODES} nodes, and each record comes back",
        (seen.nodes, seen.records) == (NODES, NODES),
        f"{seen.records} records of {plural(seen.nodes, 'node')}",
    )
    yield Finding("all give the same answer, to the last bit", seen.answers == 1, plural(seen.answers, "answer"))
    yield Finding(
        "they are judged: three like nodes are too few for a verdict",
        seen.exit_code == UNDECIDED and "not decided" in seen.answer,
        f"exit code {seen.exit_code}: {seen.answer}",
    )
    yield Finding("no process that measured is left behind", seen.left == 0, f"{seen.left} left")


def _killed(seen: Killed) -> Iterator[Finding]:
    what = f"{seen.what} killed"
    yield Finding(
        f"{what}: in the middle of a run", seen.rounds > 0 and seen.kept + seen.lost > 0, f"after {seen.rounds} rounds"
    )
    yield Finding(
        f"{what}: no window of a finished round is lost",
        seen.lost == 0,
        f"{seen.lost} lost, {seen.kept} kept, {seen.again} of a round that was cut measured again",
    )
    yield Finding(
        f"{what}: no process or container of the run is left behind",
        seen.left == 0,
        f"{seen.left} left after {seen.ended_s:.1f} s",
    )
    yield Finding(f"{what}: the run itself is resumed", seen.resumed, "resumed" if seen.resumed else "begun anew")
    yield Finding(
        f"{what}: the runs of other nodes are undisturbed",
        seen.undisturbed == seen.others and seen.untouched,
        f"{seen.undisturbed} of {seen.others} made in one go at the first attempt"
        + ("" if seen.untouched else "; a record that was there was written again"),
    )
    yield Finding(
        f"{what}: all records come back in the end",
        seen.records == seen.others + 1 and seen.exit_code == UNDECIDED,
        f"{seen.records} of {seen.others + 1}",
    )


def _slowed(seen: Replay) -> Iterator[Finding]:
    for effect, kind in dict.fromkeys((each.effect, each.kind) for each in seen.fleets):
        fleets = seen.of(effect, kind)
        middle = fleets[len(fleets) // 2].of_arm
        ratio = interval(middle.ratio, middle.low, middle.high, "{:.3f}".format)
        finds = f"{middle.finds - 1:.0%} would be found" if middle.finds is not None else "no slowdown would be found"
        yield Finding(
            f"a node slowed down by {effect:.0%} among {seen.nodes - 1} replayed peers, {kind}, is called slow",
            None,
            f"in {sum(each.found for each in fleets)} of {plural(len(fleets), 'fleet')}; in the middle one it is at "
            f"{ratio} of its peers, and {finds}",
        )
    named = [verdict for each in seen.fleets for verdict in each.others_named]
    yield Finding(
        "a replayed peer is called slow, fast or noisy",
        None,
        f"in {sum(bool(each.others_named) for each in seen.fleets)} of {plural(len(seen.fleets), 'fleet')}"
        + (f": {', '.join(named)}" if named else ""),
    )


def _arrived(seen: Arrived) -> Iterator[Finding]:
    for (statement, says), said in zip(REFUSED, (seen.without, seen.changed, seen.forged), strict=True):
        yield Finding(statement, says in said, _sentence(said, says))
    yield Finding(
        "nothing of a refused bundle is in the cache but what a lock names",
        seen.left_of_forged == 0,
        plural(seen.left_of_forged, "wrong file"),
    )
    yield Finding(
        "the bundle is packed once for all nodes that lack the same", seen.packed == 1, plural(seen.packed, "bundle")
    )
    yield Finding(
        "every wheel arrives with the SHA-256 that its lock names",
        seen.wheels == seen.wheels_right == seen.wheels_needed,
        f"{seen.wheels_right} of {seen.wheels_needed} on {plural(seen.nodes, 'node')}, "
        f"{units.size(seen.wheel_bytes)} on each",
    )
    yield Finding(
        "the environments are those of the locks, made of these wheels alone",
        seen.environments == seen.expected,
        f"{len(seen.environments)} of {len(seen.expected)}",
    )
    yield Finding(
        "the runs complete",
        seen.records == seen.nodes,
        f"{seen.records} of {seen.nodes}, {seen.seconds:.0f} s with the bundle and the environments",
    )


def _sentence(text: str, about: str) -> str:
    """Return what a text says around some words, so that a table can hold it."""
    at = text.find(about)
    begin = max(0, text.rfind(" ", 0, max(0, at - _BEFORE))) if at > _BEFORE else 0
    found = text[begin : begin + _LONGEST].strip()
    return f"{'…' if begin else ''}{found}{'…' if begin + _LONGEST < len(text) else ''}".replace("|", "/")
