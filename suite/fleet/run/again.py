"""A second test on the cluster: a node whose answer is wrong computes it again, and so does a peer, layer by layer.

It is made after all runs are in and before the verdict. Whatever goes wrong costs nothing but the second test.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from suite.errors import LevelfieldError, printable
from suite.fleet import second_test
from suite.fleet.gather import gather
from suite.fleet.groups import by_hardware
from suite.fleet.quorum import verdicts
from suite.fleet.run import messages, place
from suite.fleet.run.messages import Failed, TestAgain, TestedAgain
from suite.fleet.run.waves import Seen
from suite.fleet.types import WrongAnswer
from suite.images.base import Source
from suite.record import files, layers

MOST = 8
"""Wrong answers that are tested again: a fault that shows in many shows in these."""
LIMIT_S = 1800.0
"""Of a node for one answer."""
_GRACE_S = 60.0
_REASON_CHARACTERS = 300


class Asked(NamedTuple):
    """An answer that a node and a peer compute again."""

    wrong: WrongAnswer
    case: str
    peer: str


def needed(folder: Path, present: set[str]) -> Iterator[Asked]:
    """Yield which answers are to be computed again, and by which peer.

    Parameters
    ----------
    folder
        Of the fleet.
    present
        Names of the nodes that are there.
    """
    gathered = gather(folder)
    groups, _ = by_hardware({name: runs for name, runs in gathered.nodes.items() if runs})
    for group in groups:
        found = verdicts(group).wrong
        for wrong in second_test.add(found, gathered.tests):
            case = second_test.case_of(wrong)
            same = {each.node for each in found if (each.arm, each.question) == (wrong.arm, wrong.question)}
            peer = next((name for name in group.nodes if name in present - same), None)
            if case and peer is not None and wrong.node in present and not wrong.tested_again:
                yield Asked(wrong, case, peer)


def test(folder: Path, nodes: dict[str, Seen], launcher: str, base: Source, say: Callable[[str], None]) -> None:
    """Let nodes whose answers are wrong, and a peer of each, compute them again; keep what they send.

    Parameters
    ----------
    folder
        Of the fleet; the files go into the nodes' folders.
    nodes
        Those that are there, by their names.
    launcher, base
        As for the runs.
    say
        Prints a line.
    """
    for asked in list(needed(folder, set(nodes)))[:MOST]:
        names = (asked.wrong.node, asked.peer)
        say(f"{names[0]}: {asked.wrong.arm} on {asked.wrong.question} is wrong; it and {names[1]} compute it again.")
        request = messages.encode(TestAgain(asked.case, launcher, base, LIMIT_S))
        running = {name: place.ask(nodes[name], request, ()) for name in names}
        deadline = time.monotonic() + LIMIT_S + _GRACE_S
        try:
            for name, reference in running.items():
                _keep(name, reference, asked.wrong, folder, max(0.0, deadline - time.monotonic()), say)
        finally:
            for reference in running.values():
                place.end(reference)


def _keep(
    name: str,
    reference: Any,  # noqa: ANN401  (Ray's reference)
    wrong: WrongAnswer,
    folder: Path,
    timeout_s: float,
    say: Callable[[str], None],
) -> None:
    """Wait for one node's answer, and write it; say why there is none."""
    try:
        files.write_atomically(_free(folder / name), _content(name, reference, wrong, timeout_s))
    except LevelfieldError as error:
        say(f"{name}: not tested again. {printable(str(error))[:_REASON_CHARACTERS]}")


def _content(name: str, reference: Any, wrong: WrongAnswer, timeout_s: float) -> bytes:  # noqa: ANN401  (the same)
    if not place.wait([reference], timeout_s):
        raise LevelfieldError("It did not answer in time.")
    answer = messages.reply_of(place.reply(reference))
    if not isinstance(answer, TestedAgain):
        raise LevelfieldError(answer.reason if isinstance(answer, Failed) else "It answered another question.")
    found = layers.decode(answer.content, f"What {name} computed again")
    if (found.arm, found.question) != (wrong.arm, wrong.question):
        raise LevelfieldError("It computed another answer.")
    return answer.content


def _free(folder: Path) -> Path:
    """Return a name that no file of second tests has yet."""
    number = 1
    while (folder / f"layers-{number:02}.json").exists():
        number += 1
    return folder / f"layers-{number:02}.json"
