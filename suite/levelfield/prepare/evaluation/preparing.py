"""From a data set to the one file of items that workers read, and what is needed to judge their answers.

Which items are taken, where not all are: those whose names have the smallest SHA-256, so that the choice is random and
the same everywhere, and a smaller one lies within a larger. What was made of the same items before is found again by
their digest.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.errors import LevelfieldError
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher
from levelfield.prepare.evaluation import glue, imagenet, preprocessor, squad, windows
from levelfield.prepare.evaluation.listing import UnusableError, digest, shown
from levelfield.prepare.evaluation.preprocessor import Preprocessor
from levelfield.prepare.evaluation.tasks import TASKS, DataRequest, Task, network_of
from levelfield.prepare.evaluation.vocabulary import Vocabulary, find
from levelfield.record.files import write_atomically
from levelfield.record.schema import DataSet, Image
from levelfield.safety import untrusted
from levelfield.worker import items
from levelfield.worker.messages import Pieces
from levelfield.zoo import models
from levelfield.zoo.weights import replacing

VERSION = "levelfield-evaluation-1"
"""Of everything that decides what is made of a data set; another version, another file."""
KEY_CHARS = 24
PICTURES_AT_ONCE = 16
TEXTS_AT_ONCE = 512
MAX_PICTURE_BYTES = 64 << 20
CHANGED = "Name the data set as it is published, or see docs/data.md for the forms that are read."

_Records = npt.NDArray[Any]


class Judged(msgspec.Struct, frozen=True):
    """A data set that is ready: its file of items, and what its answers are judged by."""

    data_set: DataSet
    path: str
    """Of the file of items, under the artifacts folder."""
    records: int
    """In that file: of a long text several, one a window."""
    questions: tuple[squad.Question, ...] = ()
    """Those that are answered."""
    spans: tuple[squad.Span, ...] = ()
    """Of every record."""
    asked: tuple[int, ...] = ()
    """For every record, the place of its question among `questions`."""


class _Kept(msgspec.Struct, frozen=True):
    """What a cache keeps beside a file of items."""

    sha256: str
    records: int
    versions: dict[str, str]
    spans: tuple[squad.Span, ...] = ()
    asked: tuple[int, ...] = ()


def prepare(
    requests: Iterable[DataRequest],
    networks: Iterable[str],
    *,
    launcher: Launcher,
    artifacts: Path,
    beside: Sequence[Path] = (),
    progress: Progress,
) -> tuple[Judged, ...]:
    """Make data sets ready.

    Raises LevelfieldError: a data set cannot be read; the message names the file.
    """
    measured = tuple(networks)
    found = []
    image: Image | None = None
    for request in requests:
        task = TASKS[request.task]
        for network in measured:
            if network_of(task, network) != network:
                continue
            image = image or launcher.prepare(preprocessor.IMAGE, "cpu", None, progress)
            progress(f"reading {task.title}")
            making = _Making(launcher, image, artifacts, progress)
            try:
                found.append(_PREPARE[task.kind](making, request, task, network, beside))
            except UnusableError as error:
                raise LevelfieldError(str(error), fix=CHANGED) from error
    return tuple(found)


class _Making:
    """Where files of items are made and kept."""

    def __init__(self, launcher: Launcher, image: Image, artifacts: Path, progress: Progress) -> None:
        self._launcher = launcher
        self._image = image
        self._artifacts = artifacts
        self._progress = progress

    def kept(self, source: Sequence[str], make: Callable[[Preprocessor, Path], _Kept], what: str) -> tuple[str, _Kept]:
        """Return the file of items that belongs to a source, and what is kept beside it; make both if need be."""
        by = self._image.lock_sha256 or f"{self._image.tag} {self._image.python}"
        key = hashlib.sha256("\n".join((VERSION, by, *source)).encode()).hexdigest()[:KEY_CHARS]
        relative = f"evaluation/{key}.npy"
        path, beside = self._artifacts / relative, self._artifacts / f"evaluation/{key}.json"
        try:
            kept = msgspec.json.decode(beside.read_bytes(), type=_Kept)
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == kept.sha256:
                    return relative, kept
        except (OSError, msgspec.MsgspecError):  # not there, or damaged: it is only a cache
            pass
        self._progress(what)
        path.parent.mkdir(parents=True, exist_ok=True)
        with preprocessor.opened(self._launcher, self._image, self._artifacts) as opened:
            kept = make(opened, path)
        write_atomically(beside, msgspec.json.encode(kept))
        return relative, kept


def drawn(names: Sequence[str], most: int | None) -> tuple[int, ...]:
    """Return which of the items are taken, in their order.

    `most`: how many are taken at the most; None: all.
    """
    if most is None or most >= len(names):
        return tuple(range(len(names)))
    order = sorted(range(len(names)), key=lambda each: (hashlib.sha256(names[each].encode()).digest(), each))
    return tuple(sorted(order[:most]))


def _pictures(making: _Making, request: DataRequest, task: Task, network: str, _: Sequence[Path]) -> Judged:
    model = models.get(network)
    if model.inputs[0].shape[1:] != (preprocessor.SIDE, preprocessor.SIDE):
        sides = "×".join(map(str, model.inputs[0].shape[1:]))
        raise UnusableError(f"{model.title} takes pictures of {sides}, and they are prepared in {preprocessor.SIDE}.")
    listed = imagenet.list_pictures(request.path, model.output.shape[0])
    chosen = drawn([each.name for each in listed], request.items)
    root = imagenet.root_of(request.path)
    names = [listed[each].name for each in chosen]
    sums = {name: hashlib.sha256(_content(root, name)).hexdigest() for name in names}
    source = digest(sums.items())

    def make(opened: Preprocessor, path: Path) -> _Kept:
        def records() -> Iterator[_Records]:
            for start in range(0, len(names), PICTURES_AT_ONCE):
                some = names[start : start + PICTURES_AT_ONCE]
                contents = [_content(root, name) for name in some]
                changed = next(
                    (n for n, c in zip(some, contents, strict=True) if hashlib.sha256(c).hexdigest() != sums[n]), None
                )
                if changed is not None:
                    raise UnusableError(f"{shown(changed)} changed while it was read.")
                pixels, reasons = opened.decode(contents)
                spoiled = next(((n, why) for n, why in zip(some, reasons, strict=True) if why), None)
                if spoiled is not None:
                    raise UnusableError(f"{shown(spoiled[0])} is no picture that can be read: {shown(spoiled[1])}.")
                made = np.zeros(len(some), items.record_of(model))
                made[items.PIXELS] = pixels
                yield made

        sha256 = _write(path, items.record_of(model), len(names), records())
        return _Kept(sha256, len(names), dict(opened.versions))

    path, kept = making.kept([network, source], make, f"decoding {len(names)} pictures of {task.title}")
    return Judged(
        DataSet(
            task=task.name,
            title=task.title,
            model=network,
            metrics=task.metrics,
            sha256=source,
            available=len(listed),
            items=chosen,
            labels=tuple(listed[each].label for each in chosen),
            prepared_by=kept.versions,
        ),
        path,
        kept.records,
    )


def _questions(making: _Making, request: DataRequest, task: Task, network: str, beside: Sequence[Path]) -> Judged:
    file = request.path / "dev-v1.1.json" if request.path.is_dir() else request.path
    everything = squad.read(file, request.path if request.path.is_dir() else None)
    chosen = drawn([each.id for each in everything], request.items)
    asked = tuple(everything[each] for each in chosen)
    model = models.get(network)
    vocabulary = _vocabulary(file.parent, beside, network)
    dtype, length = items.record_of(model), model.inputs[0].shape[0]
    source = hashlib.sha256(msgspec.json.encode(asked)).hexdigest()

    def make(opened: Preprocessor, path: Path) -> _Kept:
        made: list[_Records] = []
        spans: list[squad.Span] = []
        places: list[int] = []
        split = tokenized(
            opened, vocabulary, [text for each in asked for text in (each.question.lstrip(), each.context)]
        )
        for place, (question, context) in enumerate(zip(split[::2], split[1::2], strict=True)):
            words = question.ids[: min(windows.LONGEST_QUESTION, length // 2)]  # a small network has little room
            for each in windows.over(len(words), len(context.ids), length):
                part = slice(each.first, each.first + each.count)
                made.append(windows.record(dtype, vocabulary.special, words, context.ids[part]))
                spans.append(squad.Span(each.begins, each.counts, context.starts[part], context.ends[part]))
                places.append(place)
        sha256 = _write(path, dtype, len(made), iter([np.stack(made)]))
        return _Kept(sha256, len(made), dict(opened.versions), tuple(spans), tuple(places))

    path, kept = making.kept(
        [network, source, vocabulary.sha256, str(vocabulary.lowercase)], make, f"tokenizing {task.title}"
    )
    return Judged(
        DataSet(
            task=task.name,
            title=task.title,
            model=network,
            metrics=task.metrics,
            sha256=source,
            available=len(everything),
            items=chosen,
            vocabulary_sha256=vocabulary.sha256,
            prepared_by=kept.versions,
        ),
        path,
        kept.records,
        asked,
        kept.spans,
        kept.asked,
    )


def _sentences(making: _Making, request: DataRequest, task: Task, network: str, beside: Sequence[Path]) -> Judged:
    assert task.table is not None
    rows = glue.read(request.path, task.table)
    folder = request.path if request.path.is_dir() else request.path.parent
    chosen = drawn([f"{number} {each.first}" for number, each in enumerate(rows)], request.items)
    taken = tuple(rows[each] for each in chosen)
    model = models.get(network)
    vocabulary = _vocabulary(folder, beside, network)
    dtype, length = items.record_of(model), model.inputs[0].shape[0]
    source = hashlib.sha256(msgspec.json.encode(taken)).hexdigest()

    def make(opened: Preprocessor, path: Path) -> _Kept:
        firsts = tokenized(opened, vocabulary, [each.first for each in taken])
        seconds: Sequence[Pieces | None] = [None] * len(taken)
        if taken[0].second is not None:
            seconds = tokenized(opened, vocabulary, [each.second or "" for each in taken])
        made = []
        for first, second in zip(firsts, seconds, strict=True):
            if second is None:
                made.append(windows.record(dtype, vocabulary.special, first.ids[: length - 2], None))
            else:
                both = windows.shortened(first.ids, second.ids, length - 3)
                made.append(windows.record(dtype, vocabulary.special, *both))
        sha256 = _write(path, dtype, len(made), iter([np.stack(made)]))
        return _Kept(sha256, len(made), dict(opened.versions))

    path, kept = making.kept(
        [network, source, vocabulary.sha256, str(vocabulary.lowercase)], make, f"tokenizing {task.title}"
    )
    return Judged(
        DataSet(
            task=task.name,
            title=task.title,
            model=network,
            metrics=task.metrics,
            sha256=source,
            available=len(rows),
            items=chosen,
            labels=tuple(each.label for each in taken) if task.table.classes else (),
            scores=() if task.table.classes else tuple(each.score for each in taken),
            vocabulary_sha256=vocabulary.sha256,
            prepared_by=kept.versions,
        ),
        path,
        kept.records,
    )


_PREPARE: dict[str, Callable[[_Making, DataRequest, Task, str, Sequence[Path]], Judged]] = {
    "pictures": _pictures,
    "questions": _questions,
    "sentences": _sentences,
}


def _vocabulary(folder: Path, beside: Sequence[Path], network: str) -> Vocabulary:
    words = next(each for each in models.get(network).parameters if each.name.endswith("word_embeddings.weight"))
    return find((folder, *beside), words.shape[0])


def tokenized(opened: Preprocessor, vocabulary: Vocabulary, texts: Sequence[str]) -> list[Pieces]:
    """Return texts in pieces; each different one is split once."""
    different = list(dict.fromkeys(texts))
    known: dict[str, Pieces] = {}
    for start in range(0, len(different), TEXTS_AT_ONCE):
        some = different[start : start + TEXTS_AT_ONCE]
        known |= zip(some, opened.tokenize(vocabulary, some), strict=True)
    return [known[text] for text in texts]


def _content(root: Path, name: str) -> bytes:
    try:
        return untrusted.read_plain(root / name, MAX_PICTURE_BYTES, inside=root)
    except untrusted.TooLargeError:
        raise UnusableError(f"{shown(name)} is larger than {MAX_PICTURE_BYTES >> 20} MiB.") from None
    except OSError as error:
        raise UnusableError(f"The picture {shown(name)} cannot be read: {error.strerror or error}.") from None


def _write(path: Path, dtype: np.dtype[Any], count: int, parts: Iterator[_Records]) -> str:
    """Write a NumPy file of records, whole or not at all; return its SHA-256."""
    summed = hashlib.sha256()
    with replacing(path) as file:

        def put(content: bytes) -> None:
            summed.update(content)
            file.write(content)

        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
        heading = _Heading()
        np.lib.format.write_array_header_1_0(heading, header)
        put(bytes(heading.content))
        for part in parts:
            put(part.tobytes())
    return summed.hexdigest()


class _Heading:
    """Takes what NumPy writes."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, content: bytes) -> None:
        self.content += content
