"""The end of a run: whatever happens, it is in the history or one sentence says why it is not."""

from pathlib import Path

from levelfield import analysis
from levelfield.history import entry, summary
from levelfield.record import files
from tests.history.many import small_run, write_run


def test_a_run_is_summarised(tmp_path: Path) -> None:
    run = small_run()
    made = write_run(run, tmp_path / run.id, summarised=False)
    assert entry.enter(tmp_path / run.id, files.encode(run), run, analysis.analyse(run)) == ""
    assert summary.kept(tmp_path / run.id) == made


def test_a_full_disk_is_a_sentence_too(small_disk: Path) -> None:
    run = small_run()
    folder = small_disk / run.id
    folder.mkdir()
    (folder / files.NAME).write_bytes(b"x" * 60_000)
    assert "is not in the history yet" in entry.enter(folder, files.encode(run), run, analysis.analyse(run))
