"""Files of a text data set, read within bounds: they may come from anywhere."""

from pathlib import Path

from levelfield.prepare.evaluation.listing import UnusableError, shown
from levelfield.safety import untrusted

MAX_BYTES = 256 << 20
"""Of one file: SQuAD's is 5 MB, QQP's and MNLI's some 10 MB."""


def read(path: Path, what: str, most_bytes: int = MAX_BYTES, *, inside: Path | None = None) -> str:
    """Return a text file's content.

    Raises UnusableError: it is not there, is not text in UTF-8, or is too long.
    """
    try:
        content = untrusted.read_plain(path, most_bytes, inside=inside)
    except untrusted.TooLargeError:
        raise UnusableError(f"{shown(path.name)} is larger than {most_bytes >> 20} MiB, and no {what} is.") from None
    except OSError as error:
        raise UnusableError(f"{shown(path.name)}, {what}, cannot be read: {error.strerror or error}.") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableError(f"{shown(path.name)} is no text in UTF-8: byte {error.start} is none of it.") from None
