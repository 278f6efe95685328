"""ImageNet's validation pictures: which there are, and of which class each is.

Two forms are read. In one, every class is a folder, and a class's number is the place of its name among the thousand,
sorted; where fewer classes lie there, `classes.txt` beside them names all, in their order. In the other, all pictures
lie in one folder with a file of labels: `val_map.txt` or `val.txt`, a name and a number on each line.
"""

import stat
from pathlib import Path

import msgspec

from levelfield_datasets.files import UnusableError, entries, in_order, read_text, shown

CLASSES = "classes.txt"
LABELS = ("val_map.txt", "val.txt")
SUFFIXES = (".jpeg", ".jpg", ".png")
MAX_PICTURES = 1_000_000
_MOST_DIGITS = 9
_MAX_BYTES = 64 << 20


class Picture(msgspec.Struct, frozen=True):
    """One picture."""

    name: str
    """Relative to the folder."""
    label: int


def list_pictures(folder: Path, classes: int) -> tuple[Picture, ...]:
    """List a folder of validation pictures, in the order of their names.

    Raises UnusableError: it holds no pictures, or the class of one is not known.
    """
    root = root_of(folder)
    if not root.is_dir():
        raise UnusableError(f"There is no folder {shown(folder.name or str(folder))} of pictures.")
    found = {name: kind for name, _, kind in entries(root, root)}
    listed = next((name for name in LABELS if name in found), None)
    if listed is not None:
        pictures = _labelled(root, listed, classes)
    else:
        pictures = _by_folder(root, [name for name, kind in found.items() if stat.S_ISDIR(kind)], classes)
    if not pictures:
        raise UnusableError(f"The folder {shown(root.name)} holds no pictures.")
    if len(pictures) > MAX_PICTURES:
        raise UnusableError(f"The folder {shown(root.name)} holds more than {MAX_PICTURES:,} pictures.")
    return pictures


def root_of(folder: Path) -> Path:
    """Return the folder that the names of `list_pictures` are relative to; raises UnusableError where it is a link."""
    root = (folder / "val" if (folder / "val").is_dir() else folder).resolve()
    if not root.is_relative_to(folder.resolve()):
        raise UnusableError(f"{shown(folder.name)} has a folder val that is a link to another folder: name that one.")
    return root


def _by_folder(root: Path, folders: list[str], classes: int) -> tuple[Picture, ...]:
    if not folders:
        raise UnusableError(
            f"The folder {shown(root.name)} has neither folders of classes nor a file of labels "
            f"({' or '.join(LABELS)}), so the pictures' classes are not known."
        )
    known = list(in_order(folders))
    if (root / CLASSES).is_file():
        known = read_text(root / CLASSES, "list of classes", _MAX_BYTES, inside=root).split()
    if len(known) != classes:
        raise UnusableError(
            f"The folder {shown(root.name)} has {len(known)} classes, and the network tells {classes} apart: name all "
            f"of them in a {CLASSES} there, one a line, in the order of the network's outputs."
        )
    places = {name: place for place, name in enumerate(known)}
    strange = next((name for name in folders if name not in places), None)
    if strange is not None:
        raise UnusableError(f"The class {shown(strange)} is not in {CLASSES}.")
    return tuple(
        Picture(f"{name}/{file}", places[name])
        for name in in_order(folders)
        for file, _, kind in entries(root / name, root)
        if stat.S_ISREG(kind) and Path(file).suffix.lower() in SUFFIXES
    )


def _labelled(root: Path, listed: str, classes: int) -> tuple[Picture, ...]:
    found = {}
    lines = read_text(root / listed, "list of labels", _MAX_BYTES, inside=root).splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, _, label = line.strip().rpartition(" ")
        where = f"Line {number} of {listed}"
        if not name or not label.isascii() or not label.isdecimal():
            raise UnusableError(f"{where} is not a name and a number: {shown(line)}.")
        if len(label) > _MOST_DIGITS or int(label) >= classes:
            raise UnusableError(
                f"{where} has the label {label[:12]}, and the network tells {classes} classes apart, from 0 on."
            )
        name = name.strip()
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UnusableError(f"{where} names a file outside of the folder: {shown(name)}.")
        if name in found:
            raise UnusableError(f"{where} names {shown(name)} a second time.")
        found[name] = int(label)
    return tuple(Picture(name, found[name]) for name in in_order(found))
