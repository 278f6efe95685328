"""A table of labelled texts as what a small network is trained on: bags of words, in the form of small images.

Every piece of a text has one of 768 places, by its number; what stands there says how often it occurs. So a text is as
large as an image of 16 × 16 pixels, and everything that trains on a user's own images trains on it: the same file, the
same split into what is trained on and what is tested with, the same reference. The order of words is lost, as in
fastText (Joulin et al., arXiv:1607.01759). Of two texts the second has places of its own.
"""

import hashlib
import io
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from suite.images.wheels import Progress
from suite.launchers.protocol import Launcher
from suite.prepare.artifacts import Artifacts
from suite.prepare.evaluation import glue, preprocessor
from suite.prepare.evaluation.preparing import drawn, tokenized
from suite.prepare.evaluation.tasks import TASKS, DataRequest
from suite.prepare.evaluation.vocabulary import find
from suite.prepare.own_images.listing import UnusableError, shown
from suite.prepare.own_images.preparing import Prepared, kept
from suite.record.files import write_atomically
from suite.zoo.own_images import MOST_IMAGES, MOST_TESTED, RECORD, SHAPE

VERSION = "levelfield-bags-1"
TRAINED = "train.tsv"
ONCE = 64
"""What one occurrence adds; a network is given (value − 128) / 128, so that absent words are zero."""
ABSENT = 128
LARGEST_VOCABULARY = 1 << 20
_MULTIPLIER = 2_654_435_761
"""Knuth's, of multiplicative hashing: neighbouring numbers get places far apart."""
KEY_CHARS = 24


def prepare(request: DataRequest, artifacts: Artifacts, batch: int, launcher: Launcher, progress: Progress) -> Prepared:
    """Return what is made of a task's sentences; make it if it is not there, or damaged.

    Parameters
    ----------
    request
        A task of GLUE, and the folder with `train.tsv` and what is tested with.
    artifacts
        Of this machine's cache.
    batch
        Texts in a training step.
    launcher
        Where the preprocessor runs.
    progress
        Called with a short line whenever a step begins.

    Raises
    ------
    UnusableError
        The task has no classes, or its files cannot be read.
    LevelfieldError
        The preprocessor gives no usable answer.
    """
    table = TASKS[request.task].table
    if table is None or not table.classes:
        raise UnusableError(f"{TASKS[request.task].title} has no classes of texts to train on.")
    if not request.path.is_dir():
        raise UnusableError(f"{shown(request.path.name)} is no folder with {TRAINED} and {table.file}.")
    sides = [
        (glue.read(request.path, msgspec.structs.replace(table, file=TRAINED)), MOST_IMAGES - MOST_TESTED),
        (glue.read(request.path, table), MOST_TESTED),
    ]
    rows = [(rows[each], tested) for tested, (rows, most) in enumerate(sides) for each in _taken(rows, most)]
    trained = sum(not tested for _, tested in rows)
    if trained < batch:
        raise UnusableError(f"There are {trained} texts to train on, and one step takes {batch}.")
    vocabulary = find((request.path,), LARGEST_VOCABULARY)
    image = launcher.prepare(preprocessor.IMAGE, "cpu", None, progress)
    source = hashlib.sha256(msgspec.json.encode([rows, vocabulary.sha256, vocabulary.lowercase])).hexdigest()
    words = "\n".join((VERSION, image.lock_sha256 or image.tag, source))
    key = hashlib.sha256(words.encode()).hexdigest()[:KEY_CHARS]
    manifest = artifacts.root / "images" / f"{key}.json"
    found = kept(manifest, artifacts.root)
    if found is not None and found.source_sha256 == source:
        return found
    progress(f"tokenizing {len(rows)} texts of {TASKS[request.task].title}")
    with preprocessor.opened(launcher, image, artifacts.root) as opened:
        firsts = tokenized(opened, vocabulary, [row.first for row, _ in rows])
        seconds = tokenized(opened, vocabulary, [row.second or "" for row, _ in rows])
        versions = dict(opened.versions)
    made = np.zeros(len(rows), RECORD)
    for record, (row, tested), first, second in zip(made, rows, firsts, seconds, strict=True):
        record["pixels"] = bag(first.ids, second.ids).reshape(SHAPE)
        record["label"], record["tested"] = row.label, tested
    content = io.BytesIO()
    np.save(content, made, allow_pickle=False)
    result = Prepared(
        path=f"images/{key}.npy",
        source_sha256=source,
        sha256=hashlib.sha256(content.getvalue()).hexdigest(),
        size_bytes=len(content.getvalue()),
        classes=len(table.classes),
        trained=trained,
        tested=len(rows) - trained,
        decoder=", ".join(f"{name} {version}" for name, version in versions.items()),
    )
    manifest.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(artifacts.root / result.path, content.getvalue())
    write_atomically(manifest, msgspec.json.encode(result))
    return result


def bag(first: Sequence[int], second: Sequence[int] = ()) -> npt.NDArray[np.uint8]:
    """Return how often pieces occur, shape (768,).

    Parameters
    ----------
    first, second
        Numbers of the pieces of a text or two.
    """
    places = int(np.prod(SHAPE))
    numbers = np.concatenate([2 * np.array(first, np.uint64), 2 * np.array(second, np.uint64) + 1]).astype(np.uint64)
    hashed = ((numbers + 1) * np.uint64(_MULTIPLIER)) % np.uint64(1 << 32)
    counts = np.bincount((hashed * np.uint64(places) >> np.uint64(32)).astype(np.intp), minlength=places)
    filled: npt.NDArray[np.uint8] = np.minimum(ABSENT + ONCE * counts, 255).astype(np.uint8)
    return filled


def _taken(rows: Sequence[glue.Sentences], most: int) -> tuple[int, ...]:
    return drawn([f"{number} {row.first}" for number, row in enumerate(rows)], most)
