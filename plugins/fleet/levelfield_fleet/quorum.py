"""Bit quorum: like hardware and the same image give the same answer to the last bit; a node that does not is named.

An answer is the digest of an output. Peers that answer one question with the same image are compared where there are
three or more, and more than half of them must agree. A node whose launches differ among themselves has no answer. A
kernel that adds in another order each time makes most nodes so, and then nobody is named.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from levelfield.analysis.summary import Question, Reduced
from levelfield.analysis.summary import question as question_of
from levelfield.record.schema import Image, elsewhere
from levelfield_fleet.groups import Peers
from levelfield_fleet.types import WrongAnswer

FEWEST_NODES = 3
"""With an answer to a question: of two that differ, neither is the majority."""

Asked: TypeAlias = tuple[str, Question]
"""Arm id and question."""


class Varying(msgspec.Struct, frozen=True):
    """A node whose launches give different outputs, where its peers all give one and the same."""

    node: str
    arm: str
    question: str
    outputs: int
    """Different ones that were seen."""
    peers: int
    """That gave the majority's answer."""


class Verdicts(msgspec.Struct, frozen=True):
    """How the answers of peers compare."""

    wrong: tuple[WrongAnswer, ...]
    varying: tuple[Varying, ...]
    agreed: int
    """Questions on which there is a majority."""
    open: tuple[str, ...]
    """Questions, each with its arm, on which there is none although nodes enough answered, with whichever image."""
    split: tuple[str, ...] = ()
    """Of these, those to which each node gives one answer, and several give another."""


def verdicts(group: Peers) -> Verdicts:
    """Compare the answers of peers, to the last bit."""
    wrong: list[WrongAnswer] = []
    varying: list[Varying] = []
    agreed, undecided, split = 0, [], []
    for (arm, question), given in _comparable(group):
        majority, agreeing = _majority(given)
        if not majority:
            undecided.append(f"{arm}/{written(question)}")
            if given and all(len(digests) == 1 for digests in given.values()):
                split.append(undecided[-1])
            continue
        agreed += 1
        for node, digests in given.items():
            if digests == {majority}:
                continue
            if len(digests) > 1:
                varying.append(Varying(node, arm, written(question), len(digests), agreeing))
            else:
                (digest,) = digests
                wrong.append(WrongAnswer(node, arm, written(question), digest, majority, agreeing, len(given) - 1))
    return Verdicts(tuple(wrong), tuple(varying), agreed, tuple(undecided), tuple(split))


def written(question: Question) -> str:
    """`resnet50/fp32/b1/t2/cpu`."""
    model, precision, batch, threads, device = question
    return f"{model}/{precision}/b{batch}/t{threads}/{device}"


def _majority(given: dict[str, frozenset[str]]) -> tuple[str, int]:
    """Return the digest that more than half of the nodes give in all their launches, and their number."""
    counts = Counter(next(iter(digests)) for digests in given.values() if len(digests) == 1)
    digest, count = counts.most_common(1)[0] if counts else ("", 0)
    return (digest, count) if 2 * count > len(given) else ("", 0)


def _comparable(group: Peers) -> Iterator[tuple[Asked, dict[str, frozenset[str]]]]:
    """Yield the digests of each node that answered a question with the same image, where there are enough nodes.

    There are none of a question that enough nodes answered, and too few with the same image, weights and inputs.
    """
    answered: dict[tuple[Asked, tuple[str, ...]], dict[str, set[str]]] = {}
    nodes: dict[Asked, set[str]] = {}
    for node, runs in group.nodes.items():
        for run in runs:
            for asked, parities in run.parities.items():
                # Another model or other inputs are another question.
                same = (*_image(run, asked[0]), *_data(run, asked))
                digests = {parity.output_sha256 for parity in parities if parity.output_sha256}
                if digests:
                    answered.setdefault((asked, same), {}).setdefault(node, set()).update(digests)
                    nodes.setdefault(asked, set()).add(node)
    alike = {asked for (asked, _), given in answered.items() if len(given) >= FEWEST_NODES}
    for (asked, _), given in sorted(answered.items(), key=lambda item: item[0]):
        if len(given) >= FEWEST_NODES:
            yield asked, {node: frozenset(digests) for node, digests in given.items()}
    yield from ((asked, {}) for asked in sorted(nodes) if asked not in alike and len(nodes[asked]) >= FEWEST_NODES)


def _image(run: Reduced, arm: str) -> tuple[str, ...]:
    """Return what identifies the image of an arm."""
    asked = run.arms[arm]
    place = elsewhere(asked.launcher or run.launcher, run.launcher)
    variants = (f"{asked.variant}@{asked.version}", asked.variant)
    here = [image for image in run.images if elsewhere(image.launcher, run.launcher) == place]
    images = {(image.name, image.variant): image for image in here}
    kept = next((images[asked.image, name] for name in variants if (asked.image, name) in images), None)
    return () if kept is None else _content(kept)


def _content(image: Image) -> tuple[str, ...]:
    """Return digests of what is in an image, which two builds of the same have in common."""
    return image.layers or (image.lock_sha256, image.recipe_sha256, image.base, image.worker_sha256, image.python)


def _data(run: Reduced, asked: Asked) -> Sequence[str]:
    """Return digests of the weights and inputs that an arm was given for a question."""
    arm, question = asked
    given = [
        answer
        for (name, case), answer in run.answers.items()
        if name == arm and question_of(run.cases[case]) == question
    ]
    return sorted(frozenset[str]().union(*(answer.weights | answer.inputs for answer in given)))
