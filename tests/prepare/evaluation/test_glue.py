import re
from pathlib import Path

import pytest

from levelfield.prepare.evaluation import glue
from levelfield.prepare.evaluation.listing import UnusableError
from levelfield.prepare.evaluation.tasks import TASKS, Table

FILES = {
    "cola": "gj04\t1\t\tThe sailors rode the breeze.\ngj04\t0\t*\tAs you eat the most.\n",
    "sst2": 'sentence\tlabel\nit \'s a "charming" journey \t1\nunflinchingly bleak \t0\n',
    "mrpc": "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said so.\tSo he said.\n0\t1\t2\tA.\tB.\n",
    "stsb": "index\tsentence1\tsentence2\tscore\n0\tA man.\tA man eats.\t2.5\n1\tA.\tA.\t5.000\n",
    "qqp": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\tWhy?\tHow?\t0\n4\t5\t6\tWho?\tWho?\t1\n",
    "mnli": "index\tsentence1\tsentence2\tgold_label\n0\tA.\tB.\tneutral\n1\tC.\tD.\tcontradiction\n",
    "qnli": "index\tquestion\tsentence\tlabel\n0\tWhat?\tThis.\tentailment\n1\tWho?\tIt.\tnot_entailment\n",
    "rte": "index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tnot_entailment\n1\tC.\tD.\tentailment\n",
    "wnli": "index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\t1\n1\tC.\tD.\t0\n",
}
LABELS = {
    "cola": [1, 0],
    "sst2": [1, 0],
    "mrpc": [1, 0],
    "qqp": [0, 1],
    "mnli": [1, 2],
    "qnli": [0, 1],
    "rte": [1, 0],
    "wnli": [1, 0],
}


def table(name: str) -> Table:
    found = TASKS[f"glue-{name}"].table
    assert found is not None
    return found


@pytest.mark.parametrize("name", FILES)
def test_every_task_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / table(name).file).write_text(FILES[name], encoding="utf-8")
    found = glue.read(tmp_path, table(name))
    if name == "stsb":
        assert [each.score for each in found] == [2.5, 5.0]
    else:
        assert [each.label for each in found] == LABELS[name]
    assert all(bool(each.second) == (name not in {"cola", "sst2"}) for each in found)


def test_quotes_mean_nothing(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text(FILES["sst2"], encoding="utf-8")
    assert glue.read(tmp_path / "dev.tsv", table("sst2"))[0].first == 'it \'s a "charming" journey '


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("sst2", "sentence\tlabel\ngood\t1\nbad", "Line 3 of “dev.tsv” has 1 fields, and should have 2"),
        ("sst2", "sentence\tlabel\ngood\t2\n", "The label “2” in line 2 of “dev.tsv” is none of 0, 1."),
        ("sst2", "index\tsentence\n0\tgood\n", "“dev.tsv” has no column 'label'"),
        ("sst2", "sentence\tlabel\n", "holds no sentences"),
        ("sst2", "", "has no column 'sentence'"),
        ("stsb", "index\tsentence1\tsentence2\tscore\n0\tA.\tB.\t5.1\n", "The score “5.1” in line 2"),
        ("stsb", "index\tsentence1\tsentence2\tscore\n0\tA.\tB.\tnan\n", "is no number from 0 to 5"),
        ("cola", "gj04\t1\t\tA sentence.\textra\n", "Line 1 of “dev.tsv” has 5 fields, and should have 4"),
    ],
)
def test_a_spoiled_table_is_refused_in_a_sentence(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / "dev.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(UnusableError, match=re.escape(said)):
        glue.read(tmp_path, table(name))
