"""The store of summaries: any database that SQLAlchemy speaks to, SQLite beside the reports by default.

Nothing is here that is not in the run folders: a store can be thrown away and built again.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, delete, insert, make_url, select
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute

from suite.errors import LevelfieldError
from suite.history.summary import Summary
from suite.history.tables import (
    SCHEMA,
    Base,
    FactRow,
    GroupRow,
    ResultRow,
    RunGroupRow,
    RunRow,
    StoreInfo,
)

VARIABLE = "LEVELFIELD_STORE"
FILE = "history.sqlite"
"""Name of a store beside the reports it is made from."""
_PATIENCE_SECONDS = 30
"""How long one waits while another run enters itself."""
_BATCH = 400
"""Most values in one question: SQLite takes some thousands, others fewer."""
_ATTEMPTS = 3
_T = TypeVar("_T")
_Column: TypeAlias = InstrumentedAttribute[Any]


def address(requested: str | None, reports: Path) -> str:
    """Return the URL of the store.

    Parameters
    ----------
    requested
        A URL or the path of an SQLite file; None or empty: that of the environment variable `VARIABLE`, else the file
        `FILE` in `reports`.
    reports
        Folder of run folders.
    """
    chosen = requested or os.environ.get(VARIABLE)
    if not chosen:
        return f"sqlite:///{reports / FILE}"
    return chosen if "://" in chosen else f"sqlite:///{chosen}"


def own(requested: str | None) -> bool:
    """Return whether the store is the default one, which holds the runs of its reports folder and nothing else."""
    return not (requested or os.environ.get(VARIABLE))


class Store:
    """An open store.

    Raises
    ------
    LevelfieldError
        Anything that the database says, in one sentence that never shows a password.
    """

    def __init__(self, url: str) -> None:
        self._url = _read_url(url)
        self.name = self._url.render_as_string(hide_password=True)
        with self._sentences():
            self._engine = _engine(self._url)
            Base.metadata.create_all(self._engine)
            with self._engine.begin() as connection:
                known = connection.execute(select(StoreInfo.schema)).scalars().all()
                if not known:
                    connection.execute(insert(StoreInfo).values(schema=SCHEMA))
        if known and known != [SCHEMA]:
            self.close()
            raise LevelfieldError(
                f"The history store {self.name} has version {max(known)}, and this Levelfield reads version {SCHEMA}.",
                fix="Use the Levelfield that wrote it, or name another store and build it with --rebuild.",
            )

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for queries."""
        with self._sentences(), self._engine.connect() as connection:
            yield connection

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of every record that is entered, by run id."""
        with self.reading() as connection:
            return {row.id: row.record_bytes for row in connection.execute(select(RunRow.id, RunRow.record_bytes))}

    def enter(self, summaries: Iterable[Summary], *, replace: bool = False) -> int:
        """Enter runs, all or none.

        Parameters
        ----------
        summaries
            Of the runs. Of several with one id or one record, the last counts.
        replace
            Whether to write records again that are in the store already (by their digests). Another record of the same
            run, longer since the run was resumed, always replaces it.

        Returns
        -------
        int
            How many were written.

        Raises
        ------
        LevelfieldError
            Anything that the database reports.
        """
        given = {summary.id: summary for summary in summaries}
        given = {summary.record_sha256: summary for summary in given.values()}
        with self._sentences():
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    with self._engine.begin() as connection:
                        return _enter(connection, list(given.values()), replace=replace)
                except IntegrityError:  # somebody else entered the same at the same moment: look again
                    if attempt == _ATTEMPTS:
                        raise
        return 0

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise LevelfieldError(
                f"The history store {self.name} does not answer as it should: {cause.rstrip('.')}.",
                fix="Runs and reports are not touched by this. `levelfield history --rebuild` builds it anew.",
            ) from error


def _read_url(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError) as error:
        raise LevelfieldError(
            "The address of the history store cannot be read.",
            fix=f"Give --store or {VARIABLE} like sqlite:///history.sqlite or postgresql+psycopg://user@host/database.",
        ) from error


def _engine(url: URL) -> Engine:
    arguments: dict[str, Any] = {}
    match url.get_backend_name():
        case "sqlite":
            arguments["timeout"] = _PATIENCE_SECONDS
        case "postgresql":
            arguments["client_encoding"] = "utf8"  # a database made without a locale answers in bytes otherwise
    try:
        return create_engine(url, connect_args=arguments)
    except NoSuchModuleError as error:
        raise LevelfieldError(
            f"The history store cannot be a {url.get_backend_name()[:40]!r} database: SQLAlchemy knows none.",
            fix="Use sqlite or postgresql+psycopg.",
        ) from error
    except ImportError as error:
        raise LevelfieldError(
            f"The history store needs a driver that is not installed: {error.name}.",
            fix="Install it beside levelfield: pip install 'levelfield[postgresql]'.",
        ) from error


def _enter(connection: Connection, summaries: Sequence[Summary], *, replace: bool) -> int:
    digests = [summary.record_sha256 for summary in summaries]
    entered = set() if replace else set(_found(connection, RunRow.record_sha256, digests))
    new = [summary for summary in summaries if summary.record_sha256 not in entered]
    if not new:
        return 0
    _remove(connection, new)
    connection.execute(insert(RunRow), [_run(summary) for summary in new])
    numbers: dict[str, int] = {}
    for part in _parts([summary.id for summary in new]):
        question = select(RunRow.id, RunRow.number).where(RunRow.id.in_(part))
        numbers.update((row.id, row.number) for row in connection.execute(question))
    results = [
        {"run": numbers[summary.id], **msgspec.structs.asdict(result)}
        for summary in new
        for result in {result.id: result for result in summary.results}.values()
    ]
    _insert(connection, ResultRow, results)
    _enter_environments(connection, new, numbers)
    return len(new)


def _enter_environments(connection: Connection, summaries: Sequence[Summary], numbers: dict[str, int]) -> None:
    groups: dict[str, tuple[str, dict[str, str]]] = {}
    links: list[dict[str, Any]] = []
    for summary in summaries:
        for name, facts in summary.environment.items():
            digest = hashlib.sha256(msgspec.json.encode((name, sorted(facts.items())))).hexdigest()[:32]
            groups.setdefault(digest, (name, facts))
            links.append({"run": numbers[summary.id], "digest": digest})
    known = set(_found(connection, GroupRow.digest, list(groups)))
    fresh = {digest: group for digest, group in groups.items() if digest not in known}
    _insert(connection, GroupRow, [{"digest": digest, "name": name} for digest, (name, _) in fresh.items()])
    rows = [
        {"digest": digest, "name": name, "value": value}
        for digest, (_, facts) in fresh.items()
        for name, value in facts.items()
    ]
    _insert(connection, FactRow, rows)
    _insert(connection, RunGroupRow, links)


def _found(
    connection: Connection, column: _Column, values: Sequence[str], selected: _Column | None = None
) -> Iterator[Any]:
    """Yield a column (`selected`, or else `column`) of every row whose `column` is among the values."""
    for part in _parts(values):
        yield from connection.execute(
            select(selected if selected is not None else column).where(column.in_(part))
        ).scalars()


def _parts(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))


def _remove(connection: Connection, summaries: Sequence[Summary]) -> None:
    """Make room: for the runs themselves, and for whatever else was entered as one of these records."""
    numbers = {
        *_found(connection, RunRow.id, [summary.id for summary in summaries], RunRow.number),
        *_found(connection, RunRow.record_sha256, [summary.record_sha256 for summary in summaries], RunRow.number),
    }
    for part in _parts(sorted(numbers)):
        connection.execute(delete(ResultRow).where(ResultRow.run.in_(part)))
        connection.execute(delete(RunGroupRow).where(RunGroupRow.run.in_(part)))
        connection.execute(delete(RunRow).where(RunRow.number.in_(part)))


def _run(summary: Summary) -> dict[str, Any]:
    columns = (column.name for column in RunRow.__table__.columns if not column.primary_key)
    return {name: getattr(summary, name) for name in columns} | {"labels": ",".join(summary.labels)}


def _insert(connection: Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
