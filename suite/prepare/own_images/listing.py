"""What is in a folder of images: classes by the names of folders, and which images are only tested with.

Two forms are known. `train/CLASS/*` and `val/CLASS/*`, as ImageNet comes; or `CLASS/*`, of which a fifth of every
class, at least one image, is taken out to test with: those whose names' random words are smallest. Names that begin
with a dot are left out, and so are files beside the folders of classes. Whatever else is not an image ends
it.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from suite.errors import printable
from suite.prepare.own_images import decoding
from suite.safety import untrusted
from suite.zoo import bits
from suite.zoo.own_images import LEAST_CLASSES, MOST_CLASSES, MOST_IMAGES, MOST_TESTED
from suite.zoo.weights import SEED

TRAIN, TEST = "train", "val"
TESTED_SHARE = 5
"""One image of so many is tested with, where the folder does not say which."""
MAX_NAME = 100
"""Characters of a name that are shown."""
TOKENS = frozenset({".npy", ".bin", ".npz", ".txt", ".tok"})


class UnusableError(Exception):
    """A folder cannot be trained on; the one argument is a sentence that says why."""


class Entry(msgspec.Struct, frozen=True):
    """One image."""

    name: str
    """Relative to the folder, with slashes; bytes that are no UTF-8 as Python's file system encoding has them."""
    label: int
    tested: bool

    @property
    def suffix(self) -> str:
        return suffix_of(self.name)


class Listing(msgspec.Struct, frozen=True):
    """All images of a folder, sorted by the bytes of their names.

    Of more than `MOST_TESTED` images to test with, those whose names' random words are smallest are.
    """

    folder: Path
    classes: tuple[str, ...]
    """Names of the classes' folders, sorted by bytes; a label is an index into them."""
    entries: tuple[Entry, ...]

    @property
    def trained(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.tested)

    @property
    def tested(self) -> tuple[Entry, ...]:
        tested = [entry for entry in self.entries if entry.tested]
        chosen = {entry.name for entry in sorted(tested, key=lambda each: _word(each.name))[:MOST_TESTED]}
        return tuple(entry for entry in tested if entry.name in chosen)


def list_images(folder: Path, batch: int) -> Listing:
    """List a folder of images.

    Parameters
    ----------
    folder
        What the user named.
    batch
        Images in a step: so many there must be to train on.

    Raises
    ------
    UnusableError
        It cannot be trained on; nothing was read but names.
    """
    root = _root(folder)
    top = dict(_folders(root, root))
    if TRAIN in top and TEST in top:
        train, test = dict(_folders(top[TRAIN], root)), dict(_folders(top[TEST], root))
        strange = next((name for name in in_order(test) if name not in train), None)
        if strange is not None:
            raise UnusableError(f"The class {shown(strange)} is in {TEST}/ and not in {TRAIN}/.")
        classes = in_order(train)
        sides = [(name, False, train[name]) for name in classes] + [(name, True, test[name]) for name in in_order(test)]
    else:
        classes = in_order(top)
        sides = [(name, False, top[name]) for name in classes]
    _check_classes(classes)
    label = {name: index for index, name in enumerate(classes)}
    found = [
        Entry(name=file, label=label[name], tested=tested)
        for name, tested, path in sides
        for file in _images(path, root)
    ]
    if not any(entry.tested for entry in found):
        found = _split(found, classes)
    listing = Listing(root, classes, tuple(sorted(found, key=lambda entry: os.fsencode(entry.name))))
    _check_counts(listing, batch)
    return listing


def shown(name: str) -> str:
    """Return a name as it can be shown: on one line, in UTF-8, of a bounded length, and never a control character."""
    text = printable(os.fsencode(name).decode("utf-8", "replace")).replace("\n", "\ufffd").replace("\t", "\ufffd")
    return f"“{text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + '…'}”"


def suffix_of(name: str) -> str:
    """Return the suffix of a file's name, with its dot."""
    return os.path.splitext(name)[1]  # noqa: PTH122  (a name, no path)


def digest(named: Iterable[tuple[str, str]]) -> str:
    """Return one SHA-256 for all files, given each one's relative name and SHA-256.

    It is that of what `sha256sum` prints for them in the order of their names' bytes, so that anybody can make it.
    """
    found = hashlib.sha256()
    for name, sha256 in sorted(named, key=lambda each: os.fsencode(each[0])):
        found.update(f"{sha256}  ".encode() + os.fsencode(name) + b"\n")
    return found.hexdigest()


def _root(folder: Path) -> Path:
    try:
        root = folder.resolve(strict=True)
        kind = root.stat().st_mode
    except (OSError, RuntimeError):  # Python before 3.13 says of a circle of links that it is a RuntimeError
        raise UnusableError(f"There is no folder {shown(folder.name or str(folder))} to train on.") from None
    if stat.S_ISREG(kind) and folder.suffix.lower() in TOKENS:
        raise UnusableError(
            f"{shown(folder.name)} is a file: token files are not trained on; a folder of images is, and so are the "
            "labelled texts of a task of GLUE (--data glue-sst2=FOLDER)."
        )
    if not stat.S_ISDIR(kind):
        raise UnusableError(f"{shown(folder.name)} is no folder of images.")
    return root


def entries(folder: Path, root: Path) -> Iterator[tuple[str, Path, int]]:
    """Go through a folder: names, paths and kinds, links followed; what begins with a dot is left out.

    Parameters
    ----------
    folder
        What is gone through.
    root
        Folder that no link may leave.

    Raises
    ------
    UnusableError
        The folder cannot be read, or holds a link that leads nowhere or out of it.
    """
    try:
        names = in_order(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208  (names alone)
    except OSError as error:
        raise UnusableError(f"The folder {shown(folder.name)} cannot be read: {error.strerror}.") from None
    for name in names:
        path = folder / name
        where = shown(str(path.relative_to(root)))
        try:
            inside = untrusted.belongs_to(path.resolve(strict=True), root)
            kind = path.stat().st_mode
        except (OSError, RuntimeError):
            raise UnusableError(f"{where} cannot be read: it is a link to nothing, or not for you.") from None
        if not inside:
            raise UnusableError(f"{where} is a link that leaves the folder.")
        yield name, path, kind


def _folders(folder: Path, root: Path) -> Iterator[tuple[str, Path]]:
    return ((name, path) for name, path, kind in entries(folder, root) if stat.S_ISDIR(kind))


def _images(folder: Path, root: Path) -> Iterator[str]:
    for name, path, kind in entries(folder, root):
        where = path.relative_to(root).as_posix()
        if stat.S_ISDIR(kind):
            raise UnusableError(f"{shown(where)} is a folder inside of a class: only images may be there.")
        if not stat.S_ISREG(kind):
            raise UnusableError(f"{shown(where)} is no ordinary file.")
        reason = decoding.why_not(suffix_of(name))
        if reason:
            raise UnusableError(f"{shown(where)} cannot be read: {reason}")
        yield where


def _split(entries: list[Entry], classes: tuple[str, ...]) -> list[Entry]:
    """Take a fifth of each class out to test with, by its images' names alone."""
    found: list[Entry] = []
    for label, name in enumerate(classes):
        own = sorted((each for each in entries if each.label == label), key=lambda each: os.fsencode(each.name))
        if len(own) < 2:
            raise UnusableError(
                f"The class {shown(name)} has {len(own)} images: one to train on and one to test with are needed."
            )
        order = sorted(range(len(own)), key=lambda index: _word(own[index].name))
        tested = set(order[: max(1, len(own) // TESTED_SHARE)])
        found += [msgspec.structs.replace(each, tested=index in tested) for index, each in enumerate(own)]
    return found


def _word(name: str) -> tuple[int, bytes]:
    plain = os.fsencode(name)
    return int(bits.words(f"{SEED}/own images/split/{plain.hex()}", 1)[0]), plain


def _check_classes(classes: tuple[str, ...]) -> None:
    if not classes:
        raise UnusableError("The folder is empty: it holds no folders of images.")
    if len(classes) < LEAST_CLASSES:
        raise UnusableError(f"There is one class ({shown(classes[0])}): with nothing to tell apart, nothing is learnt.")
    if len(classes) > MOST_CLASSES:
        raise UnusableError(f"There are {len(classes)} classes, and {MOST_CLASSES} at the most can be trained on.")


def _check_counts(listing: Listing, batch: int) -> None:
    trained = len(listing.trained)
    there = {entry.label for entry in listing.trained}
    empty = next((name for label, name in enumerate(listing.classes) if label not in there), None)
    if empty is not None:
        raise UnusableError(f"The class {shown(empty)} has no images to train on.")
    if trained < batch:
        raise UnusableError(f"There are {trained} images to train on, and one step takes {batch}.")
    if len(listing.entries) > MOST_IMAGES:
        raise UnusableError(
            f"There are {len(listing.entries)} images: more than the small networks of this scenario see in a whole "
            f"training. Give it {MOST_IMAGES} at the most."
        )


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in the order of their bytes."""
    return tuple(sorted(names, key=os.fsencode))
