"""The end of a run: whatever happens, it is in the history or one sentence says why it is not."""

from pathlib import Path

import pytest

from suite import analysis
from suite.history import entry, store, summary
from tests.history.many import small_run, write_run


@pytest.fixture(autouse=True)
def default_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(store.VARIABLE, raising=False)


def test_a_run_is_summarised_and_entered(tmp_path: Path) -> None:
    run = small_run()
    made = write_run(run, tmp_path / run.id, summarised=False)
    assert entry.enter(tmp_path / run.id, run, analysis.analyse(run)) == ""
    assert summary.kept(tmp_path / run.id, verify=True) == made
    opened = store.Store(store.address(None, tmp_path))
    assert list(opened.sizes()) == [run.id]
    opened.close()


def test_a_run_without_its_record_is_a_sentence(tmp_path: Path) -> None:
    run = small_run()
    (tmp_path / run.id).mkdir()
    said = entry.enter(tmp_path / run.id, run, analysis.analyse(run))
    assert said.startswith("This run is not in the history yet: ")
    assert not (tmp_path / store.FILE).exists()
