"""The tables of a store, small enough that a team can query them itself.

A group of environment facts that many runs share is kept once, under its digest: of a thousand runs on one machine most
point at the same few groups.
"""

from sqlalchemy import BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SCHEMA = 1
"""Version of these tables. A reader refuses any other by name: a store is quickly built anew."""


class Base(DeclarativeBase):
    pass


class StoreInfo(Base):
    """One row: the version of the tables."""

    __tablename__ = "levelfield"

    schema: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class RunRow(Base):
    """One run."""

    __tablename__ = "runs"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(String(500), unique=True)
    record_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    record_bytes: Mapped[int] = mapped_column(BigInteger)
    started: Mapped[str] = mapped_column(String(20), index=True)
    """UTC, ISO 8601."""
    machine: Mapped[str] = mapped_column(String(500))
    """Key of the hardware: runs with different ones are different series."""
    machine_title: Mapped[str] = mapped_column(String(500))
    launcher: Mapped[str] = mapped_column(String(10))
    labels: Mapped[str] = mapped_column(Text)
    """Separated by commas; empty for a run that may be used as a result."""


class ResultRow(Base):
    """One arm's answer to one case."""

    __tablename__ = "results"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number"), primary_key=True)
    id: Mapped[str] = mapped_column(String(500), primary_key=True, index=True)
    arm: Mapped[str] = mapped_column(String(500))
    image: Mapped[str] = mapped_column(String(500))
    metric: Mapped[str] = mapped_column(String(40))
    unit: Mapped[str] = mapped_column(String(10))
    standing: Mapped[str] = mapped_column(String(10))
    estimate: Mapped[float | None]
    low: Mapped[float | None]
    high: Mapped[float | None]


class GroupRow(Base):
    """One group of environment facts, with one content."""

    __tablename__ = "environment_groups"

    digest: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(500))


class FactRow(Base):
    """One fact of a group."""

    __tablename__ = "environment_facts"

    digest: Mapped[str] = mapped_column(ForeignKey("environment_groups.digest"), primary_key=True)
    name: Mapped[str] = mapped_column(String(500), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class RunGroupRow(Base):
    """Which groups surrounded a run."""

    __tablename__ = "run_environments"

    run: Mapped[int] = mapped_column(ForeignKey("runs.number"), primary_key=True)
    digest: Mapped[str] = mapped_column(ForeignKey("environment_groups.digest"), primary_key=True)
