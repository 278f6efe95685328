"""The runs of a site: found, verified, and reduced to what its pages need."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import msgspec

from levelfield.analysis import Analysis, guarded, summary
from levelfield.analysis.environment import machine_key, machine_title
from levelfield.analysis.summary import Reduced, Summary
from levelfield.analysis.types import BlockAnalysis, ConvergenceBlock, TimedBlock
from levelfield.compare import ab, phrases
from levelfield.errors import LevelfieldError
from levelfield.names import made_of, plural
from levelfield.record import files
from levelfield.record.schema import Block
from levelfield.report import answers, names, overview, sentences
from levelfield.share import attestation, verify
from levelfield.share.attestation import Given

OPERATORS = "operators"
"""Stands for all single operators of a run."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
"""What a run's id may be to become the name of a folder."""


Ranks: TypeAlias = Mapping[str, int]
"""Arm to its rank in one case."""


class Matrix(msgspec.Struct, frozen=True):
    """What a run says of the scenario that matters most."""

    columns: tuple[overview.Column, ...] = ()
    lines: tuple[overview.Line, ...] = ()
    ranks: dict[str, Ranks] = {}
    """By case id, of each column."""


def matrix_of(found: Analysis) -> Matrix:
    """Return a run's latency cases, or else all; empty where nothing but operators is ranked."""
    kinds = TimedBlock | ConvergenceBlock
    ranked = [
        each for each in found.blocks if isinstance(each, kinds) and each.best and not each.case.definition.operators
    ]
    chosen = [each for each in ranked if each.case.scenario == "latency"] or ranked
    anchors = zip(found.timed, names.anchors(each.case.id for each in found.timed), strict=True)
    shown = overview.tables(
        replace(found, blocks=tuple(chosen)),
        [anchor for block, anchor in anchors if any(block is each for each in chosen)],
    )
    if not shown:
        return Matrix()
    ranks = {each.case.id: {row.arm: row.rank for row in each.rows if row.rank is not None} for each in chosen}
    columns = shown[0].columns
    return Matrix(columns, shown[0].lines, {column.case.id: ranks[column.case.id] for column in columns})


class Entry(msgspec.Struct, frozen=True):
    id: str
    started: str
    title: str
    """The verdict in a sentence."""
    parity: str
    machine: str
    """Key of the hardware."""
    machine_title: str
    launcher: str
    labels: tuple[str, ...]
    models: tuple[str, ...]
    backends: tuple[str, ...]
    stack: tuple[str, ...]
    """`torch 2.13.0`, one for every framework."""
    sha256: str
    """Of the record."""
    signer: str
    """Who signed it, by the file of signers; empty: nobody that is known."""
    matrix: Matrix
    contended: bool = False


class SiteRuns(msgspec.Struct, frozen=True):
    entries: tuple[Entry, ...]
    """Newest first."""
    summaries: tuple[Summary, ...]
    reduced: dict[str, Reduced]
    """Of each run, what a comparison needs."""
    skipped: tuple[str, ...]
    """What is left out, and why."""


def paths_of(sources: Sequence[Path]) -> list[Path]:
    """Return every run: a folder without a record of its own is one of runs."""
    found: list[Path] = []
    for source in sources:
        of_runs = not files.has_record(source) and source.is_dir()  # what may not be looked into is read, and named
        found += files.runs_in(source) if of_runs else [source]
    return found


def read_runs(
    paths: Sequence[Path],
    say: Callable[[str], None],
    keep: Callable[[Entry, Given, str], None],
    *,
    signers: Path | None = None,
) -> SiteRuns:
    """Verify every run, once, and give each with its page to `keep`.

    What cannot be read, fails verification, or has an id that no folder can have, is left out. Of two records with one
    id, or copies of one, the first with a known signer stays; without any, that in the folder of this name, since a
    stranger's must not take its place, or the first.
    """
    named, queue = Counter(path.name for path in paths), list(paths)
    entries: dict[str, Entry] = {}
    places: dict[str, str] = {}
    summaries: dict[str, Summary] = {}
    reduced: dict[str, Reduced] = {}
    skipped: list[str] = []
    for number, path in enumerate(queue, start=1):
        place = (path.name if named[path.name] == 1 else "") or str(path)
        say(f"verifying {place} ({number} of {len(queue)})")
        try:
            given = attestation.read(path)
            known = entries.get(given.run.id)
            copy = known is not None and known.sha256 == given.record_sha256
            weaker = known is not None and bool(known.signer or not given.signature)
            if copy and weaker:
                continue
            if number <= len(paths) and path.name != given.run.id and given.run.id in named:
                queue.append(path)
                continue
            if not _ID.fullmatch(given.run.id):
                skipped.append(f"{place}: its run's id can be no folder's name")
                continue
            page, signer = ("", "") if weaker else _verified(given, signers)
            if known is not None and not signer:
                skipped += [] if copy else [f"{place}: its run's id is taken by {places[known.id]}"]
                continue
            one = _entry(given, signer)
            with guarded.computing(given.name):
                of_comparison = summary.reduce(given.run, given.record_sha256, given.analysis)
            keep(one, given, page)
        except LevelfieldError as error:
            skipped.append(f"{place}: {error.message}")
        except OSError:
            raise  # of the disk that the site is written to
        except Exception as error:  # noqa: BLE001  (a stranger's record may break the analysis in any way)
            skipped.append(f"{place}: its analysis ended with {error.__class__.__name__}")
        else:
            if known is not None and not copy:
                skipped.append(f"{places[one.id]}: its run's id is taken by {place}, signed by {signer}")
            entries[one.id], reduced[one.id], places[one.id] = one, of_comparison, place
            summaries.pop(one.id, None)
            with contextlib.suppress(LevelfieldError):  # names that no history keeps: it has no trends
                sha256, size = one.sha256, len(given.content)
                made = summary.summarise(given.run, given.analysis, record_sha256=sha256, record_bytes=size)
                summaries[one.id] = made
    newest = sorted(entries.values(), key=lambda entry: (summary.utc(entry.started), entry.id), reverse=True)
    return SiteRuns(tuple(newest), tuple(summaries.values()), reduced, tuple(skipped))


def _verified(given: Given, signers: Path | None) -> tuple[str, str]:
    """Return a run's page, made anew where it is not what this version renders of the record, and its known signer.

    Raises LevelfieldError: its verification failed.
    """
    found = verify.verify(given, signers=signers)
    broken = [check for check in found.checks if check.state == "broken"]
    if broken:
        raise LevelfieldError(f"Its verification failed: {broken[0].topic}: {broken[0].says}")
    holds = any(check.topic == "page" and check.state == "holds" for check in found.checks)
    return given.page.decode() if holds and given.page is not None else verify.render(given), found.signer


def _entry(given: Given, signer: str) -> Entry:
    run, found = given.run, given.analysis
    models = [OPERATORS if _is_operator(each) else names.network(each.case) for each in run.blocks]
    versions = {each for image in run.images for each in image.distributions.items()}
    return made_of(
        Entry,
        run,
        run.settings,
        title=_title(found) if (compared := ab.of_run(run)) is None else f"{phrases.title(compared)}.",
        parity=sentences.parity(found),
        machine=machine_key(run.machine),
        machine_title=machine_title(run.machine),
        models=tuple(dict.fromkeys(models)),
        stack=tuple(sorted(f"{name} {version}" for name, version in versions if names.is_framework(name))),
        sha256=given.record_sha256,
        signer=signer,
        matrix=matrix_of(found),
        contended=answers.contended(found),
    )


def _is_operator(block: Block | BlockAnalysis) -> bool:
    return block.case.definition.operators


def _title(found: Analysis) -> str:
    """Return the verdict in a sentence; operators are counted, not named."""
    models = tuple(each for each in found.blocks if not _is_operator(each))
    count = len(found.blocks) - len(models)
    if not count:
        return answers.overall(found) + (" On a contended machine." if answers.contended(found) else "")
    counted = f"{plural(count, 'operator')} compared."
    return f"{answers.overall(replace(found, blocks=models))} {counted}" if models else counted
