"""Stores that tests of the history share: SQLite, and PostgreSQL where it is installed."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from suite.history.store import Store
from suite.history.summary import Summary
from tests.history import databases
from tests.history.many import small_run, write_run


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return write_run(small_run(), tmp_path_factory.mktemp("template") / "run")


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    place = databases.programs()
    if place is None or find_spec("psycopg") is None:
        pytest.skip("PostgreSQL and its driver are not installed.")
    with databases.server(place) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path / 'history.sqlite'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql")
    one = Store(url)
    yield one
    if request.param == "postgresql":
        from suite.history.tables import Base

        Base.metadata.drop_all(one._engine)
    one.close()
