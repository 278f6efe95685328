"""Small seeded data sets in the published forms, as the tests make them."""

import json
import string
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

WORDS = "the a of in was born who where when live . , ? ! paris london ##s ##d '"
PIECES = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()),
    *(*string.ascii_lowercase, *string.digits),
    *(f"##{each}" for each in string.ascii_lowercase + string.digits if each not in "sd"),
)
CONTEXT = "Marie was born in Paris in 1867. " + "She lives in London. " * 60 + "The end was in Warsaw."
QUESTIONS = (("Where was Marie born?", "Paris"), ("When was she born?", "1867"), ("Where was the end?", "Warsaw"))


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return a PNG file of RGB pixels, shape (height, width, 3)."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width, _ = pixels.shape
    heading = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    body = chunk(b"IHDR", heading) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def picture(number: int) -> npt.NDArray[np.uint8]:
    """Return a picture of some size with waves in it, another one for each number."""
    rng = np.random.default_rng(number)
    height, width = rng.integers(230, 330, 2)
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / (2 + number) + channel) * np.cos(y / (3 + 2 * number) + number) for channel in range(3)]
    return np.clip(127 + 100 * np.stack(waves, -1) + rng.normal(0, 10, (height, width, 3)), 0, 255).astype(np.uint8)


def imagenet(folder: Path, labels: list[int]) -> Path:
    """Write so many pictures with these labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(labels)):
        (folder / f"{number:03}.png").write_bytes(png(picture(number)))
    lines = (f"{number:03}.png {label}\n" for number, label in enumerate(labels))
    (folder / "val_map.txt").write_text("".join(lines))
    return folder


def squad(folder: Path) -> Path:
    """Write three questions on a text of several windows, with a vocabulary beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    asked = [
        {"id": f"q{number}", "question": question, "answers": [{"text": answer, "answer_start": CONTEXT.index(answer)}]}
        for number, (question, answer) in enumerate(QUESTIONS)
    ]
    article = {"title": "t", "paragraphs": [{"context": CONTEXT, "qas": asked}]}
    (folder / "dev-v1.1.json").write_text(json.dumps({"version": "1.1", "data": [article]}))
    return folder / "dev-v1.1.json"


def sst2(folder: Path, labels: list[int]) -> Path:
    """Write sentences with these labels, with a vocabulary beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    rng = np.random.default_rng(5)
    texts = (" ".join(rng.choice([*WORDS.split()[:16], *"abcdefgh"], rng.integers(3, 30))) for _ in labels)
    rows = (f"{text}\t{label}\n" for text, label in zip(texts, labels, strict=True))
    (folder / "dev.tsv").write_text("sentence\tlabel\n" + "".join(rows))
    return folder
