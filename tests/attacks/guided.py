"""Cases guided by coverage: libFuzzer (through atheris) keeps what reaches code that nothing before it reached.

A part is a number of cases for one reader, in a process of its own. Nothing of the tool may be imported here before it
is instrumented, so this module imports it late.
"""

import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tests.attacks.fuzzing import Found

LONGEST_BYTES = 2_000_000
"""The longest input."""
HANG_S = 600
"""For libFuzzer, to whom zero is a limit; that of `fuzzing` ends a case first."""
_DONE = re.compile(r"DONE\s+cov: (\d+) ft: (\d+) corp: (\d+)/")


class Part(msgspec.Struct, frozen=True):
    """Cases of one process."""

    reader: str
    cases: int
    seed: int
    corpus: str
    """Folder of inputs to begin with; what reaches something new is added to it."""
    keep: str
    """Folder for what the reader failed at."""


class Reached(msgspec.Struct, frozen=True):
    """What a reader's cases reached, as libFuzzer counts it."""

    edges: int
    """Of the tool's code, and comparisons in it."""
    features: int
    """Edges, and how often they were taken."""
    corpus: int
    """Inputs that each reached something of their own."""


class Died(msgspec.Struct, frozen=True):
    """The process of a part ended before its last case."""

    said: str
    """The end of what it printed."""


def run(part: Part) -> "tuple[Found, Reached] | Died":
    """Try the cases of a part in a new process."""
    from tests.attacks.fuzzing import Found

    with tempfile.TemporaryDirectory(prefix="levelfield-fuzz-") as folder:
        asked, found, place = Path(folder) / "part", Path(folder) / "found", Path(folder) / "place"
        place.mkdir()
        asked.write_bytes(msgspec.json.encode(part))
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, asked, found, place],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        counted = _DONE.search(done.stdout)
        if counted is None or not found.is_file():
            return Died(" ".join(done.stdout[-2_000:].split()))
        return msgspec.json.decode(found.read_bytes(), type=Found), Reached(*map(int, counted.groups()))


def _main(asked: Path, found: Path, place: Path) -> None:
    """Try the cases of a part, and write down what came of them. It does not return: libFuzzer ends the process."""
    import atheris

    part = msgspec.json.decode(asked.read_bytes(), type=Part)
    with atheris.instrument_imports(include=["levelfield"]):
        from tests.attacks import fuzzing, readers
        from tests.attacks.mutating import mutated
    seeds = readers.seeds(part.reader)
    fuzzing.limit_memory()
    trial = fuzzing.Trial(place, Path(part.keep))
    left = part.cases

    def one(content: bytes) -> None:
        nonlocal left
        trial.take(part.reader, content)
        left -= 1
        if not left:
            found.write_bytes(msgspec.json.encode(trial.found()))

    def changed(content: bytes, most_bytes: int, seed: int) -> bytes:
        """Change values mostly; now and then begin with a committed input, or change bytes as libFuzzer does."""
        rng = random.Random(seed)
        match rng.randrange(8):
            case 0:
                return mutated(rng, rng.choice(seeds))[:most_bytes]
            case 1 | 2:
                return bytes(atheris.Mutate(content, most_bytes))
            case _:
                return mutated(rng, content)[:most_bytes]

    options = {
        "runs": part.cases,
        "seed": part.seed,
        "max_len": LONGEST_BYTES,
        "timeout": HANG_S,  # of a case; its processor time is bounded here, and the part goes on after that
        "rss_limit_mb": 0,
        "handle_int": 0,
    }
    words = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup([sys.argv[0], *words, part.corpus], one, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    _main(*map(Path, sys.argv[1:4]))
