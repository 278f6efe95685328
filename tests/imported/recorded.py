"""Recorded files of the tools; `data/README.md` says where each is from."""

from pathlib import Path

FOLDER = Path(__file__).parent / "data"
READINGS = Path(__file__).parents[1] / "fieldtools" / "data"


def content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def files() -> list[Path]:
    """All of them, with the outputs that `suite.fieldtools` reads too."""
    own = [path for path in FOLDER.iterdir() if path.suffix != ".md"]
    return sorted([*own, *READINGS.glob("nccl-*"), *READINGS.glob("nvbandwidth-*")])
