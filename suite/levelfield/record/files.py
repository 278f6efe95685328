"""Reading and writing records: bounded, checked against the schema, and written atomically.

A run's record is its page (`record.page`); runs of earlier versions have a `run.json`.
"""

import contextlib
import hashlib
import math
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from levelfield import untrusted
from levelfield.errors import LevelfieldError, clause, explained
from levelfield.record import page
from levelfield.record.page import MAX_BYTES
from levelfield.record.schema import INT_LIMIT, SCHEMA, Block, Run

MAX_VALUES, MAX_OBJECTS = 50_000_000, 5_000_000
"""Most values of a record, some forty bytes of memory each once it is read, and objects, some three hundred each."""
LEAST_AMOUNT, HIGHEST_AMOUNT = 1e-9, 1e10
"""Of a price: what can be typed."""
MAX_CURRENCY_CHARS = 8
LEAST_LATENCY_MS, MOST_LATENCY_MS = 0.001, 3_600_000.0
"""Of a latency target: what can be typed."""
LEAST_SHARE, MOST_SHARE = 1e-6, 1 - 1e-6
"""Of what is typed as a percentage, and of the rates of a gate."""
DAMAGED = "The file was changed or damaged."
NAME = "run.json"
"""The record as plain JSON, as earlier versions wrote it."""
JOURNAL = "journal.jsonl"


def encode(run: Run) -> bytes:
    """Return a record as JSON."""
    return msgspec.json.encode(run) + b"\n"


def write(run: Run, folder: Path) -> Path:
    """Write a record as plain JSON into `folder`, atomically.

    Raises LevelfieldError: the folder is read-only, or the disk is full.
    """
    write_atomically(folder / NAME, encode(run))
    return folder / NAME


def runs_in(reports: Path) -> list[Path]:
    """Return the folders under `reports` that hold a record or may not be looked into, by name.

    There is none among them that a link shows from elsewhere.

    Raises LevelfieldError: the folder cannot be read.
    """
    named = [entry for entry in entries(reports) if not entry.name.startswith(".") and has_record(entry)]
    return [entry for entry in named if untrusted.belongs_to(entry.resolve(), reports)]


def entries(folder: Path) -> list[Path]:
    """Return what is in a folder, by name; nothing where there is none. Raises LevelfieldError: it cannot be read."""
    with explained(f"The folder {folder} cannot be read", "Name another one with --reports."):
        try:
            return sorted(folder.iterdir())
        except FileNotFoundError:
            return []


@contextlib.contextmanager
def fresh_file(target: Path) -> Iterator[BinaryIO]:
    """Yield a new file of a random name, which is flushed to disk and renamed to `target` in the end.

    A reader sees the old file or the new one, and nothing is written through a link that has the name of either.

    Raises OSError: the folder is read-only, or the disk is full. What was there is then as it was.
    """
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.umask(umask := os.umask(0o077))
            os.fchmod(file.fileno(), 0o666 & ~umask)  # by its name, it may be a link that a folder's owner put there
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_atomically(target: Path, content: bytes, *, named: bool = False) -> None:
    """Write a file by `fresh_file`, or where the user `named` it, by `named_file`.

    Raises LevelfieldError: the folder is read-only, or the disk is full.
    """
    with writing(target), named_file(target) if named else fresh_file(target) as file:
        file.write(content)


@contextlib.contextmanager
def named_file(target: Path) -> Iterator[BinaryIO]:
    """Yield a `fresh_file` in the place that a user named, or the pipe or device that is there.

    A stranger's folder may hold one, too. Raises LevelfieldError: as `write_atomically`.
    """
    with writing(target):
        real = target.parent.resolve()  # /dev/stdout may lead to a plain file, and is not to be replaced
        special = not target.is_file() or any(map(real.is_relative_to, ("/dev", "/proc")))
        with target.open("wb") if target.exists() and special else fresh_file(target) as file:
            yield file


def writing(target: Path) -> contextlib.AbstractContextManager[None]:
    """Let an OSError of what is written say where, in one sentence."""
    fix = "Free space there, or choose a place you can write (--reports for runs)."
    return explained(f"{target} cannot be written", fix)


def read(path: Path) -> Run:
    """Read a record: a page, JSON, or the folder of either.

    Records are untrusted input: the file is bounded in size and number of values, decoded against the schema, and
    checked for consistency (`check`). Nothing in it is evaluated.

    Raises LevelfieldError: the file is missing, too large, no record, of a newer schema, does not follow the schema
    (the message names the field), or is inconsistent.
    """
    file = file_of(path)
    run = decode(content_of(file), str(file))
    check(run, str(file))
    return run


def has_record(folder: Path) -> bool:
    """Return whether a record, or a link that calls itself one, lies in a run's folder, or may: nobody may look."""
    return any(untrusted.may_be_there(folder / name) for name in (NAME, page.NAME))


def file_of(path: Path) -> Path:
    """Return the record's file: that of a folder, the file itself, or the page in the place of a `run.json` of old."""
    folder = path if os.path.isdir(path) else path.parent  # noqa: PTH112  (a name may be too long to be asked for)
    if path != folder and (path.name != NAME or os.path.lexists(path)):
        return path
    return folder / (NAME if os.path.lexists(folder / NAME) else page.NAME)


def content_of(path: Path, *, follow_links: bool = True) -> bytes:
    """Return the JSON of a record, never more than `MAX_BYTES`: of a page, what it unpacks to.

    Raises LevelfieldError: missing, not a plain file, too long, or a page without its record.
    """
    file = file_of(path)
    try:
        inside = file.parent if file.name in (NAME, page.NAME) else None  # a file of a run's folder stays in it
        content = untrusted.read_plain(file, MAX_BYTES, follow_links=follow_links, inside=inside)
    except untrusted.TooLargeError as error:
        raise LevelfieldError(
            f"{file} is longer than {MAX_BYTES} bytes, the most that a record may have.",
            fix="It is not a record of Levelfield, or it was damaged.",
        ) from error
    except OSError as error:
        raise LevelfieldError(
            f"{file} cannot be read: {error.strerror or error}.", fix="Name a run's folder or its page."
        ) from error
    found = page.record_in(content)
    if file.name == NAME:
        _check_page(file.with_name(page.NAME), hashlib.sha256(found).hexdigest())
    return found


def _check_page(path: Path, sha256: str) -> None:
    """Refuse a `run.json` beside a page of another record (LevelfieldError), as which one counts is not known."""
    try:
        stated = page.sha256_in(untrusted.read_plain(path, MAX_BYTES, inside=path.parent))
    except (OSError, LevelfieldError):
        return  # none is there, or one that holds no record that can be read
    if stated != sha256:
        raise LevelfieldError(
            f"{path.with_name(NAME)} is not the record inside {path.name}, which lies beside it.",
            fix=f"Delete the one that is wrong; `levelfield verify {path.name}` checks the page alone.",
        )


class _Version(msgspec.Struct, forbid_unknown_fields=False):
    schema: int


_NOT_JSON = (msgspec.MsgspecError, RecursionError, ValueError, OverflowError)
"""Errors of decoding; the last two are Python's, for text that is not UTF-8 and numbers of thousands of digits."""


def decode(content: bytes, name: str) -> Run:
    """Decode a record's JSON, whose content is not trusted.

    Raises LevelfieldError: it is not JSON, has a schema of a newer version, does not follow the schema, or holds more
    than `MAX_VALUES` values or numbers that no record has.
    """
    if content.count(b",") >= MAX_VALUES or content.count(b"{") >= MAX_OBJECTS:
        raise LevelfieldError(
            f"{name} holds more than {MAX_VALUES:,} values or {MAX_OBJECTS:,} objects, the most of a record.",
            fix="It is not a record of Levelfield, or it was damaged.",
        )
    try:
        version = msgspec.json.decode(content, type=_Version).schema
    except _NOT_JSON as error:
        raise LevelfieldError(
            f"{name} is not a record: {clause(error)}.", fix="Name a record or a page that Levelfield wrote."
        ) from error
    if version > SCHEMA:
        raise LevelfieldError(
            f"{name} has schema {min(version, INT_LIMIT)}; this Levelfield reads up to {SCHEMA}.",
            fix="Install a newer Levelfield.",
        )
    if version < 1:
        raise LevelfieldError(f"{name} has schema {max(version, -INT_LIMIT)}, which never was.", fix=DAMAGED)
    try:
        run = msgspec.json.decode(content, type=Run)
    except _NOT_JSON as error:
        raise LevelfieldError(
            f"{name} does not follow the schema: {clause(error)}.",
            fix="The file was changed or damaged, or a newer Levelfield wrote it.",
        ) from error
    _refuse_numbers(run, name)
    return run


def _refuse_numbers(run: Run, name: str) -> None:
    """Refuse infinite numbers, to which `1e999` decodes, and integers of more than 64 bits."""
    stack: list[Any] = [run]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is float:
            if not math.isfinite(item):
                raise LevelfieldError(f"{name} holds a number that is not finite.", fix=DAMAGED)
        elif kind is int:
            if not -INT_LIMIT <= item < INT_LIMIT:
                raise LevelfieldError(f"{name} holds a number that is too large to be true.", fix=DAMAGED)
        elif kind is tuple or kind is list:
            if item and type(item[0]) not in (int, str):  # of integers, the types bound each
                stack += item
        elif kind is dict:
            stack += item.values()
        elif kind not in _NO_NUMBERS:
            stack += [held for field in item.__struct_fields__ if type(held := getattr(item, field)) not in _NO_NUMBERS]


_NO_NUMBERS = frozenset({str, bool, type(None)})


MAX_ATTEMPTS = 8
"""How often the window of an arm is taken in one round: a run takes it no more often."""
MAX_POLLS = 1_000
"""Probes while one window waits: a run waits for fewer."""


def check(run: Run, name: str) -> None:
    """Refuse a record that follows the schema and is inconsistent.

    Raises LevelfieldError: the margin or the slowdown allowed is out of bounds, a price or a latency target
    cannot be, the counts of a calibration contradict each other, a batch or a number of threads or processes is below
    one, a depth is missing or of no use, a cache grows where there is none, or something is not unique that must be.
    """
    if not LEAST_SHARE <= run.settings.margin <= MOST_SHARE:
        raise _impossible(name, f"a margin of {run.settings.margin}")
    limit = run.settings.max_slowdown
    if limit is not None and not LEAST_SHARE <= limit <= MOST_SHARE:
        raise _impossible(name, f"a limit of {limit:g} for a slowdown")
    price = run.settings.price
    if price is not None and not (
        LEAST_AMOUNT <= price.per_hour <= HIGHEST_AMOUNT and len(price.currency) <= MAX_CURRENCY_CHARS
    ):
        raise _impossible(name, f"a price of {price.per_hour:g} an hour")
    target = run.settings.latency_target_ms
    if target is not None and not LEAST_LATENCY_MS <= target <= MOST_LATENCY_MS:
        raise _impossible(name, f"a latency target of {target:g} ms")
    known = run.calibrated
    if known is not None and not (0 <= known.different <= known.runs and 0 <= known.same <= known.runs > 0):
        raise _impossible(name, f"a calibration with {known.different} and {known.same} of {known.runs} runs")
    if any(draw.ratio <= 0 for draw in run.earlier_controls):
        raise _impossible(name, "an earlier control with a ratio below zero")
    _check_answers(run, name)
    _once((block.case.id for block in run.blocks), name, "cases")
    for block in run.blocks:
        if block.case.batch < 1 or block.case.threads < 1:
            raise _impossible(name, f"a batch of {block.case.batch} on {block.case.threads} threads")
        if block.case.processes < 1:
            raise _impossible(name, f"a training in {block.case.processes} processes")
        if block.case.depth < 0 or bool(block.case.depth) != bool(block.case.definition.decodes):
            raise _impossible(name, f"{block.case.scenario} at a depth of {block.case.depth}")
        if block.case.growing_cache and not block.case.depth:
            raise _impossible(name, f"{block.case.scenario} with a growing cache")
        _once((arm.id for arm in block.arms), name, "arms of a case")
        _once((generation.index for generation in block.generations), name, "generations of a case")
        _once((left.arm for left in block.left), name, "arms that left a case")
        if not {left.arm for left in block.left} <= {arm.id for arm in block.arms}:
            raise _impossible(name, "an arm that left a case in which it was not")
        _check_generations(block, name)


def _check_answers(run: Run, name: str) -> None:
    """Refuse answers to a data set that are more or fewer than its items, or judged by what it is not judged by."""
    sets = {(each.task, each.model): each for each in run.data_sets}
    _once((f"{each.task} {each.model}" for each in run.data_sets), name, "data sets")
    for known in run.data_sets:
        if any(series and len(series) != len(known.items) for series in (known.labels, known.scores)):
            raise _impossible(name, f"a data set of {len(known.items)} items with other labels")
    for found in run.accuracies:
        asked = sets.get((found.task, found.model))
        if asked is None:
            raise _impossible(name, f"answers to {found.task}, which it does not hold")
        series = (found.answers, found.scores, *found.right.values(), *found.shares.values())
        if any(each and len(each) != len(asked.items) for each in series):
            raise _impossible(name, f"other answers than the {len(asked.items)} items of {asked.task}")
        if found.failure is None and not (found.answers or found.scores):
            raise _impossible(name, f"an arm that answered nothing of {asked.task}")
    _once(
        (f"{each.task} {each.model} {each.precision} {each.arm}" for each in run.accuracies), name, "answers of an arm"
    )


def _check_generations(block: Block, name: str) -> None:
    for generation in block.generations:
        _once((launch.arm for launch in generation.launches), name, "launches of a generation")
        _once((round_.index for round_ in generation.rounds), name, "rounds of a generation")
        for round_ in generation.rounds:
            _once((turn.arm for turn in round_.turns if turn.probed_after is None), name, "turns of a round")
            most = max(Counter(turn.arm for turn in round_.turns).values(), default=0)
            if most > MAX_ATTEMPTS:
                raise _impossible(name, f"a window that was taken {most} times")
            if any(len(turn.polled_ns) > MAX_POLLS for turn in round_.turns):
                raise _impossible(name, f"more than {MAX_POLLS} probes before a window")


def _once(values: Iterable[str | int], name: str, what: str) -> None:
    if any(count > 1 for count in Counter(values).values()):
        raise _impossible(name, f"two {what} of one name")


def _impossible(name: str, what: str) -> LevelfieldError:
    return LevelfieldError(f"{name} tells of {what}, which no run has.", fix=DAMAGED)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a record, generated from the types."""
    return msgspec.json.schema(Run)
