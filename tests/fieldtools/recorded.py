"""Recorded outputs of the tools; `data/README.md` says where each was published."""

from pathlib import Path

FOLDER = Path(__file__).parent / "data"


def content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def names() -> list[str]:
    return sorted(path.name for path in FOLDER.iterdir() if path.suffix != ".md")
