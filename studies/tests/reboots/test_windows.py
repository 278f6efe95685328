"""Windows of journals, counted before and after some are lost."""

from pathlib import Path

from studies.reboots.windows import Held, held, missing
from suite.record.files import JOURNAL
from suite.record.journal import GenerationBegun, Journal, RoundDone, TurnTaken
from suite.record.schema import Turn, Window


def reports(tmp_path: Path, turns: int) -> Path:
    folder = tmp_path / "reports" / "run"
    folder.mkdir(parents=True)
    with Journal(folder / JOURNAL) as journal:
        journal.write(GenerationBegun("case", 0, 1))
        for index in range(turns):
            journal.write(
                TurnTaken("case", 0, index, Turn("onnxruntime", Window((), (300 + index,), 900, 900, 0, 0, 0, 0, 0)))
            )
            journal.write(RoundDone("case", 0, index))
    return tmp_path / "reports"


def test_a_window_that_is_gone_is_counted_and_a_new_one_is_not(tmp_path: Path) -> None:
    before = held(reports(tmp_path, 3))
    assert before["run"].rounds == 3
    assert len(before["run"].windows) == 3
    longer = {"run": Held(4, (*before["run"].windows, before["run"].windows[0]))}
    assert missing(before, longer) == 0
    assert missing(longer, before) == 1
    assert missing(before, {}) == 3


def test_there_may_be_no_folder_yet(tmp_path: Path) -> None:
    assert held(tmp_path / "none") == {}
