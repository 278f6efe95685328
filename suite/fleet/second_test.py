"""The second test of a node that computes wrongly says whether it is wrong again, and in which layer that begins.

It is made by `levelfield layers` on the node and on a peer. Its files are a stranger's: they lie in the nodes' folders
as `layers.json` or `layers-….json`, and are compared only where arm, question, image, data and hardware are the same.
"""

import itertools
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from suite.compare.layers import first_difference, not_comparable, steady
from suite.errors import LevelfieldError
from suite.fleet.types import WrongAnswer
from suite.record import layers
from suite.record.layers import Layer, Layers
from suite.zoo import models

MOST_FILES = 32
"""Of one node that are read."""
_MOST_ENTRIES = 10_000

ByNode: TypeAlias = Mapping[str, Sequence[Layers]]
"""What was computed again, by the name of the node."""


def files_of(node: str, folder: Path) -> tuple[list[Layers], list[str]]:
    """Read the files of a node's second tests.

    Parameters
    ----------
    node
        Its name, as messages call it.
    folder
        Its folder.

    Returns
    -------
    files : list of Layers
    notes : list of str
        A sentence for each file that was passed over.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in itertools.islice(entries, _MOST_ENTRIES) if _is_named_so(each.name))
    except OSError:
        return [], []  # that the folder cannot be read was noted where records are looked for
    found, notes = [], []
    for name in names[:MOST_FILES]:
        try:
            found.append(layers.read(folder / name, f"{node}/{name}", follow_links=False))
        except LevelfieldError as error:
            notes.append(error.message)
    if len(names) > MOST_FILES:
        notes.append(f"{node} has {len(names):,} files of layers: only the first {MOST_FILES} by name are read.")
    return found, notes


def _is_named_so(name: str) -> bool:
    return name.isascii() and name.isprintable() and name.startswith("layers") and name.endswith(".json")


def case_of(wrong: WrongAnswer) -> str:
    """Return the result that `levelfield layers` computes again; empty where its layers cannot be seen.

    Parameters
    ----------
    wrong
        An answer.
    """
    model, *rest = wrong.question.split("/")
    if len(rest) != 4 or model not in models.names() or rest[-1] != "cpu":
        return ""
    scenario = "latency" if rest[1] == "b1" else "throughput"
    return "/".join((wrong.arm, model, scenario, *rest))


def add(found: Sequence[WrongAnswer], tests: ByNode) -> tuple[WrongAnswer, ...]:
    """Add to wrong answers what second tests say.

    Parameters
    ----------
    found
        Wrong answers of nodes of like hardware.
    tests
        Of all nodes of that hardware.
    """
    return tuple(_with_test(wrong, _others(wrong, found, tests), tests.get(wrong.node, ())) for wrong in found)


def _others(wrong: WrongAnswer, found: Sequence[WrongAnswer], tests: ByNode) -> ByNode:
    """Return the tests of the peers that are not wrong about the same."""
    same = {each.node for each in found if (each.arm, each.question) == (wrong.arm, wrong.question)}
    return {name: each for name, each in tests.items() if name not in same}


def _with_test(wrong: WrongAnswer, peers: ByNode, own: Sequence[Layers]) -> WrongAnswer:
    tests = [each for each in own if _is_of(each, wrong)]
    if not tests:
        return wrong
    launches = [launch for each in tests for launch in each.launches]
    again = sum(launch.output_sha256 != wrong.majority for launch in launches)
    tested = msgspec.structs.replace(wrong, tested_again=len(launches), wrong_again=again)
    if not again:
        return msgspec.structs.replace(tested, reason="it was seen once and did not come back: a transient fault")
    return _with_layer(tested, peers, tests)


def _with_layer(wrong: WrongAnswer, peers: ByNode, tests: Sequence[Layers]) -> WrongAnswer:
    """Compare the layers of launches that are wrong with those of the majority."""
    for test in tests:
        right = list(_layers_of(peers, wrong, test))
        if not right:
            continue
        layers_of_most, votes = Counter(right).most_common(1)[0]
        if 2 * votes <= len(right):
            return msgspec.structs.replace(wrong, reason="the peers that were tested differ in their layers")
        for launch in test.launches:
            if launch.output_sha256 != wrong.majority and (layer := first_difference(launch.layers, layers_of_most)):
                return msgspec.structs.replace(wrong, layer=layer)
        return msgspec.structs.replace(wrong, reason="no layer differs when the layers run one by one")
    return msgspec.structs.replace(wrong, reason="no peer with the same image and data was tested")


def _layers_of(peers: ByNode, wrong: WrongAnswer, test: Layers) -> Iterator[tuple[Layer, ...]]:
    """Yield the layers of each peer that gives the majority's answer again, and the same layers in every launch."""
    for files in peers.values():
        for each in files:
            of_all = steady(each)
            right = all(launch.output_sha256 == wrong.majority for launch in each.launches)
            if right and of_all is not None and not not_comparable(test, each):
                yield of_all
                break


def _is_of(test: Layers, wrong: WrongAnswer) -> bool:
    return (test.arm, test.question) == (wrong.arm, wrong.question)
