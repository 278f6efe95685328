"""The store of summaries: what is entered, replaced and refused."""

import sqlite3
import threading
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.history import queries, store
from suite.history.store import Store
from suite.history.summary import Summary
from tests.history.many import LATENCY, name, summaries


def one_series(opened: Store, **options: bool) -> list[str]:
    found = queries.series(opened, [LATENCY], labelled=options.get("labelled", False))
    return [point.run for one in found for point in one.points]


def test_what_is_entered_comes_back(opened: Store, template: Summary) -> None:
    given = summaries(template, 30)
    assert opened.enter(given) == 30
    (found,) = queries.series(opened, [LATENCY], labelled=False)
    assert [point.run for point in found.points] == [one.id for one in given]
    results = [next(result for result in one.results if result.id == LATENCY) for one in given]
    assert [point.estimate for point in found.points] == [result.estimate for result in results]
    assert (found.machine, found.unit, found.image) == (template.machine, "ns", "image onnxruntime")


def test_entering_twice_changes_nothing(opened: Store, template: Summary) -> None:
    given = summaries(template, 3)
    assert opened.enter(given) == 3
    assert opened.enter(given) == 0
    assert opened.enter(given, replace=True) == 3
    assert len(one_series(opened)) == 3


def test_a_run_that_went_on_replaces_itself(opened: Store, template: Summary) -> None:
    opened.enter([template])
    longer = msgspec.structs.replace(template, record_sha256="f" * 64, record_bytes=template.record_bytes + 1)
    assert opened.enter([longer]) == 1
    assert one_series(opened) == [template.id]
    assert opened.sizes() == {template.id: longer.record_bytes}


def test_a_group_that_many_runs_share_is_kept_once(tmp_path: Path, template: Summary) -> None:
    opened = Store(f"sqlite:///{tmp_path / 'history.sqlite'}")
    opened.enter(summaries(template, 50, level=lambda day: 1.0 + (day >= 25) / 10))
    opened.close()
    with sqlite3.connect(tmp_path / "history.sqlite") as connection:
        (groups,) = connection.execute("select count(*) from environment_groups").fetchone()
    connection.close()
    assert groups == len(template.environment) + 1


def test_two_runs_that_end_together_are_both_entered(opened: Store, template: Summary) -> None:
    given = summaries(template, 8)
    url = opened._url

    def enter(one: Summary) -> None:
        own = Store(url.render_as_string(hide_password=False))
        own.enter([one, given[0]])
        own.close()

    threads = [threading.Thread(target=enter, args=(one,)) for one in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one_series(opened) == [name(day) for day in range(8)]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://anna:secret@:port/x", "cannot be read"),
        ("oracle9://anna:secret@host/x", "knows none"),
        ("mysql+mysqldb://anna:secret@localhost/x", "driver that is not installed"),
        ("sqlite:////nobody/is/here/history.sqlite", "unable to open"),
        ("postgresql+psycopg://anna:secret@127.0.0.1:1/x", "does not answer"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_sentence_without_a_password(url: str, says: str) -> None:
    if "psycopg" in url and find_spec("psycopg") is None:
        pytest.skip("The driver of PostgreSQL is not installed.")
    with pytest.raises(LevelfieldError) as caught:
        Store(url)
    assert says in caught.value.message
    assert caught.value.fix
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "history.sqlite").write_text("no database", encoding="utf-8")
    with pytest.raises(LevelfieldError, match="not a database"):
        Store(f"sqlite:///{tmp_path / 'history.sqlite'}")


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'history.sqlite'}"
    Store(url).close()
    with sqlite3.connect(tmp_path / "history.sqlite") as connection:
        connection.execute("update levelfield set schema = 7")
    connection.close()
    with pytest.raises(LevelfieldError, match="has version 7"):
        Store(url)


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(store.VARIABLE, raising=False)
    assert store.address(None, tmp_path) == f"sqlite:///{tmp_path}/history.sqlite"
    assert store.own(None)
    assert store.address("here.sqlite", tmp_path) == "sqlite:///here.sqlite"
    monkeypatch.setenv(store.VARIABLE, "postgresql+psycopg://team@host/levelfield")
    assert store.address(None, tmp_path) == "postgresql+psycopg://team@host/levelfield"
    assert not store.own(None)
