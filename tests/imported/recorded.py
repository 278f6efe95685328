"""Recorded files of the tools; `data/README.md` says where each is from."""

from pathlib import Path

FOLDER = Path(__file__).parent / "data"


def content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def files() -> list[Path]:
    return sorted(path for path in FOLDER.iterdir() if path.suffix != ".md")
