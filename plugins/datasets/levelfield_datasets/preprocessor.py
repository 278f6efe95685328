"""A container that decodes pictures and splits texts: what reads strangers' files is not the supervisor itself.

It is given contents, never a folder, and has no network. What it answers is checked as every worker's answer is.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.errors import LevelfieldError
from levelfield.launchers.protocol import Launcher, LaunchSpec, running
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.record.schema import Image
from levelfield.worker.messages import CallPlugin, PluginCalled
from levelfield_datasets import worker as inside
from levelfield_datasets.bert import Vocabulary
from levelfield_datasets.worker import SIDE, DecodePictures, PicturesDecoded, Pieces, Tokenize, Tokenized

IMAGE = "preprocessor"
MEMORY_BYTES = 4 << 30
TIMEOUT_S = 300.0
TEXTS_AT_ONCE = 512
_R = TypeVar("_R", PicturesDecoded, Tokenized)


class Preprocessor:
    """A preprocessor that is up."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.versions: dict[str, str] = {}
        """Of what decoded and split, once it has."""

    def decode(self, files: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], tuple[str, ...]]:
        """Return the middle squares of picture files, and for each why it cannot be read, or an empty text.

        Raises WorkerError: it gives no usable answer.
        """
        reply = self._call(inside.decode.__name__, DecodePictures(tuple(files)), PicturesDecoded)
        shape = (len(files), SIDE, SIDE, 3)
        if len(reply.pixels) != int(np.prod(shape)) or len(reply.reasons) != len(files):
            raise WorkerError("protocol", "The preprocessor answered with other pictures than it was given.")
        return np.frombuffer(reply.pixels, np.uint8).reshape(shape), reply.reasons

    def tokenize(self, vocabulary: Vocabulary, texts: Sequence[str]) -> list[Pieces]:
        """Return texts in pieces of a vocabulary; each different one is split once.

        Raises WorkerError: it gives no usable answer.
        """
        different = list(dict.fromkeys(texts))
        known: dict[str, Pieces] = {}
        for start in range(0, len(different), TEXTS_AT_ONCE):
            some = different[start : start + TEXTS_AT_ONCE]
            known |= zip(some, self._tokenize(vocabulary, some), strict=True)
        return [known[text] for text in texts]

    def _tokenize(self, vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[Pieces, ...]:
        request = Tokenize(vocabulary.content, vocabulary.lowercase, tuple(texts))
        reply = self._call(inside.tokenize.__name__, request, Tokenized)
        numbers = vocabulary.content.removesuffix("\n").count("\n") + 1
        for text, pieces in zip(texts, reply.pieces, strict=False):
            whole = len(pieces.ids) == len(pieces.starts) == len(pieces.ends)
            if not whole or max(pieces.ids, default=0) >= numbers or max(pieces.ends, default=0) > len(text):
                raise WorkerError("protocol", "The preprocessor answered with pieces that are not of the text.")
        if len(reply.pieces) != len(texts):
            raise WorkerError("protocol", "The preprocessor answered with other texts than it was given.")
        return reply.pieces

    def _call(self, function: str, request: msgspec.Struct, kind: type[_R]) -> _R:
        call = CallPlugin(inside.__name__, function, msgspec.Raw(msgspec.json.encode(request)))
        try:
            reply = msgspec.json.decode(self._worker.ask(call, PluginCalled, TIMEOUT_S).answer, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise WorkerError("protocol", f"The preprocessor gave an answer of another form: {error}.") from None
        self.versions |= reply.versions
        return reply


@contextlib.contextmanager
def opened(launcher: Launcher, image: Image, artifacts: Path) -> Iterator[Preprocessor]:
    """Start a preprocessor, and end it.

    Raises LevelfieldError: it could not be started, or gave no usable answer.
    """
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    spec = LaunchSpec(
        name=IMAGE, image=image, threads=len(cpus), cpus=cpus, memory_bytes=MEMORY_BYTES, artifacts=artifacts
    )
    try:
        with running(launcher, spec) as worker:
            yield Preprocessor(worker)
    except WorkerError as error:
        fix = "Leave --data out, or run with --launcher docker."
        raise LevelfieldError(f"The data set could not be prepared: {error.message}", fix=fix) from error
