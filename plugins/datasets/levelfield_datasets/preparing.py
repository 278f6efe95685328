"""From a data set to the one file of items that workers read, and what is needed to judge their answers.

Which items are taken, where not all are: those whose names have the smallest SHA-256, so that the choice is random and
the same everywhere, and a smaller one lies within a larger. What was made of the same items before is found again by
their digest.
"""

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.errors import LevelfieldError
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher
from levelfield.record.files import write_atomically
from levelfield.record.schema import DataSet, Image
from levelfield.schedule.data_sets import DataRequest, Prepared
from levelfield.untrusted import limit_access
from levelfield.worker import items
from levelfield.zoo import models
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import replacing
from levelfield_datasets import bert, glue, imagenet, preprocessor, squad
from levelfield_datasets.bert import Vocabulary
from levelfield_datasets.files import UnusableError, digest, read, shown
from levelfield_datasets.preprocessor import Preprocessor
from levelfield_datasets.tasks import TASKS, Task, network_of
from levelfield_datasets.worker import SIDE

VERSION = "levelfield-evaluation-1"
"""Of everything that decides what is made of a data set; another version, another file."""
KEY_CHARS = 24
PICTURES_AT_ONCE = 16
MAX_PICTURE_BYTES = 64 << 20

_Records = npt.NDArray[Any]


class Judged(Prepared, frozen=True):
    """A data set that is ready: its file of items, and what its answers are judged by."""

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


MOST_WINDOWS = 50_000
"""Of all questions: those of SQuAD's development set have 10,833, of 384 pieces each."""


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a cache keeps beside a file of items."""

    sha256: str
    records: int
    versions: dict[str, str]
    spans: tuple[squad.Span, ...] = ()
    asked: tuple[int, ...] = ()


class _Made(NamedTuple):
    """The records of items, and where they come from."""

    total: int
    parts: Iterable[_Records]
    spans: tuple[squad.Span, ...] = ()
    asked: tuple[int, ...] = ()


class _Source(NamedTuple):
    """What was read of a data set's files."""

    sha256: str
    available: int
    chosen: tuple[int, ...]
    what: str
    """Is done to make its records."""
    make: Callable[[Preprocessor], _Made]
    vocabulary: Vocabulary | None = None
    labels: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    questions: tuple[squad.Question, ...] = ()


def prepare(
    requests: Sequence[DataRequest],
    networks: Sequence[str],
    launcher: Launcher,
    artifacts: Path,
    beside: Sequence[Path],
    progress: Progress,
) -> tuple[Judged, ...]:
    """Make data sets ready.

    Raises LevelfieldError: a data set cannot be read; the message names the file.
    """
    image = launcher.prepare(preprocessor.IMAGE, "cpu", None, progress)
    making = _Making(launcher, image, artifacts, progress)
    try:
        return tuple(
            making.prepared(request, TASKS[request.task], models.get(network), beside)
            for request in requests
            for network in networks
            if network_of(TASKS[request.task], network) == network
        )
    except UnusableError as error:
        fix = "Name the data set as it is published, or see docs/data.md for the forms that are read."
        raise LevelfieldError(str(error), fix=fix) from error


class _Making(NamedTuple):
    """Where files of items are made and kept."""

    launcher: Launcher
    image: Image
    artifacts: Path
    progress: Progress

    def prepared(self, request: DataRequest, task: Task, model: Model, beside: Sequence[Path]) -> Judged:
        self.progress(f"reading {task.title}")
        source = _READ[task.kind](request, task, model, beside)
        vocabulary = source.vocabulary
        relative, kept = self._kept(source, task, model)
        data_set = DataSet(
            task=task.name,
            title=task.title,
            model=model.name,
            metrics=task.metrics,
            sha256=source.sha256,
            available=source.available,
            items=source.chosen,
            labels=source.labels,
            scores=source.scores,
            vocabulary_sha256=vocabulary.sha256 if vocabulary is not None else "",
            prepared_by=kept.versions,
        )
        return Judged(data_set, relative, kept.records, source.questions, kept.spans, kept.asked)

    def _kept(self, source: _Source, task: Task, model: Model) -> tuple[str, _Kept]:
        """Return the file of items that belongs to a source, and what is kept beside it; make both if need be."""
        by = self.image.lock_sha256 or f"{self.image.tag} {self.image.python}"
        split = () if source.vocabulary is None else (source.vocabulary.sha256, str(source.vocabulary.lowercase))
        of = "\n".join((VERSION, by, model.name, source.sha256, *split))
        relative = f"evaluation/{hashlib.sha256(of.encode()).hexdigest()[:KEY_CHARS]}.npy"
        path = self.artifacts / relative
        try:
            kept = msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=_Kept)
            if _sha256(path) == kept.sha256:
                return relative, kept
        except (OSError, msgspec.MsgspecError):  # not there, or damaged: it is only a cache
            pass
        self.progress(f"{source.what} {task.title}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with preprocessor.opened(self.launcher, self.image, self.artifacts) as opened:
            made = source.make(opened)
            sha256 = _write(path, items.record_of(model), made)
            limit_access(path)
            kept = _Kept(sha256, made.total, dict(opened.versions), made.spans, made.asked)
        write_atomically(path.with_suffix(".json"), msgspec.json.encode(kept))
        return relative, kept


def drawn(names: Sequence[str], most: int | None) -> tuple[int, ...]:
    """Return which of the items are taken, in their order: `most` at the most, or all."""
    if most is None or most >= len(names):
        return tuple(range(len(names)))
    order = sorted(range(len(names)), key=lambda place: (hashlib.sha256(names[place].encode()).digest(), place))
    return tuple(sorted(order[:most]))


def _pictures(request: DataRequest, _: Task, model: Model, __: Sequence[Path]) -> _Source:
    if model.inputs[0].shape[1:] != (SIDE, SIDE):
        sides = "×".join(map(str, model.inputs[0].shape[1:]))
        raise UnusableError(f"{model.title} takes pictures of {sides}, and they are prepared in {SIDE}.")
    listed = imagenet.list_pictures(request.path, model.output.shape[0])
    chosen = drawn([picture.name for picture in listed], request.items)
    root = imagenet.root_of(request.path)
    names = [listed[place].name for place in chosen]
    sums = {name: hashlib.sha256(picture_file(root, name)).hexdigest() for name in names}

    def records(opened: Preprocessor) -> Iterator[_Records]:
        for start in range(0, len(names), PICTURES_AT_ONCE):
            some = names[start : start + PICTURES_AT_ONCE]
            contents = [picture_file(root, name) for name in some]
            for name, content in zip(some, contents, strict=True):
                if hashlib.sha256(content).hexdigest() != sums[name]:
                    raise UnusableError(f"{shown(name)} changed while it was read.")
            pixels, reasons = opened.decode(contents)
            for name, reason in zip(some, reasons, strict=True):
                if reason:
                    raise UnusableError(f"{shown(name)} is no picture that can be read: {shown(reason)}.")
            made = np.zeros(len(some), items.record_of(model))
            made[items.PIXELS] = pixels
            yield made

    return _Source(
        sha256=digest(sums),
        available=len(listed),
        chosen=chosen,
        what=f"decoding {len(names)} pictures of",
        make=lambda opened: _Made(len(names), records(opened)),
        labels=tuple(listed[place].label for place in chosen),
    )


def picture_file(root: Path, name: str) -> bytes:
    """Return the content of a picture; raises UnusableError where it cannot be read."""
    return read(root / name, "picture", MAX_PICTURE_BYTES, inside=root)


def _questions(request: DataRequest, _: Task, model: Model, beside: Sequence[Path]) -> _Source:
    file = request.path / "dev-v1.1.json" if request.path.is_dir() else request.path
    everything = squad.read(file, request.path if request.path.is_dir() else None)
    chosen = drawn([question.id for question in everything], request.items)
    asked = tuple(everything[place] for place in chosen)
    vocabulary = _vocabulary(file.parent, beside, model)
    length = model.inputs[0].shape[0]

    def make(opened: Preprocessor) -> _Made:
        made: list[_Records] = []
        spans: list[squad.Span] = []
        places: list[int] = []
        split = opened.tokenize(vocabulary, [text for one in asked for text in (one.question.lstrip(), one.context)])
        windows = functools.lru_cache(maxsize=64)(bert.windows)  # many ask about one text
        for place, (question, context) in enumerate(zip(split[::2], split[1::2], strict=True)):
            words = question.ids[: min(bert.LONGEST_QUESTION, length // 2)]  # a small network has little room
            for window in windows(len(words), len(context.ids), length):
                part = slice(window.first, window.first + window.count)
                made.append(bert.record(items.record_of(model), vocabulary, words, context.ids[part]))
                spans.append(squad.Span(window.begins, window.counts, context.starts[part], context.ends[part]))
                places.append(place)
            if len(places) > MOST_WINDOWS:
                raise UnusableError(
                    f"{file.name} has texts so long that more than {MOST_WINDOWS:,} windows ask about them."
                )
        return _Made(len(made), made, tuple(spans), tuple(places))

    return _Source(
        sha256=hashlib.sha256(msgspec.json.encode(asked)).hexdigest(),
        available=len(everything),
        chosen=chosen,
        what="tokenizing",
        make=make,
        vocabulary=vocabulary,
        questions=asked,
    )


def _sentences(request: DataRequest, task: Task, model: Model, beside: Sequence[Path]) -> _Source:
    assert task.table is not None
    rows = glue.read(request.path, task.table)
    chosen = drawn([f"{number} {row.first}" for number, row in enumerate(rows)], request.items)
    taken = tuple(rows[place] for place in chosen)
    folder = request.path if request.path.is_dir() else request.path.parent
    vocabulary = _vocabulary(folder, beside, model)
    dtype, length = items.record_of(model), model.inputs[0].shape[0]

    def make(opened: Preprocessor) -> _Made:
        firsts = [pieces.ids for pieces in opened.tokenize(vocabulary, [row.first for row in taken])]
        if taken[0].second is None:
            made = [bert.record(dtype, vocabulary, first[: length - 2], None) for first in firsts]
        else:
            seconds = [pieces.ids for pieces in opened.tokenize(vocabulary, [row.second or "" for row in taken])]
            pairs = (bert.shortened(*pair, length - 3) for pair in zip(firsts, seconds, strict=True))
            made = [bert.record(dtype, vocabulary, *pair) for pair in pairs]
        return _Made(len(made), made)

    return _Source(
        sha256=hashlib.sha256(msgspec.json.encode(taken)).hexdigest(),
        available=len(rows),
        chosen=chosen,
        what="tokenizing",
        make=make,
        vocabulary=vocabulary,
        labels=tuple(row.label for row in taken) if task.table.classes else (),
        scores=() if task.table.classes else tuple(row.score for row in taken),
    )


_READ: dict[str, Callable[[DataRequest, Task, Model, Sequence[Path]], _Source]] = {
    "pictures": _pictures,
    "questions": _questions,
    "sentences": _sentences,
}


def _vocabulary(folder: Path, beside: Sequence[Path], model: Model) -> Vocabulary:
    words = next(tensor for tensor in model.parameters if tensor.name.endswith("word_embeddings.weight"))
    return bert.find_vocabulary((folder, *beside), words.shape[0])


def _write(path: Path, dtype: np.dtype[Any], made: _Made) -> str:
    """Write a NumPy file of records, whole or not at all; return its SHA-256."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (made.total,)}
    with replacing(path, 0o600) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in made.parts:
            file.write(part.tobytes())
    return _sha256(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
