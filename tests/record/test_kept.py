"""Records of 0.1.0, of every scenario and every kind of failure: kept as they are, and read by every version."""

from pathlib import Path
from zipfile import ZipFile

import msgspec

from levelfield.analysis import analyse
from levelfield.record import files
from levelfield.report import html
from levelfield.scenarios import NAMES
from tests.compare.runs import one


def test_records_of_0_1_0_are_read_shown_and_compared(tmp_path: Path) -> None:
    kept = ZipFile(Path(__file__).with_name("records-0.1.0.zip"))
    for name in {f"{each}.json" for each in NAMES}.union(kept.namelist()):
        run = files.read(Path(kept.extract(name, tmp_path)))
        assert run.id in html.render(run, analyse(run))
        verdicts = {row.verdict for row in one(run, msgspec.structs.replace(run, id="again")).rows}
        assert verdicts.isdisjoint({"faster", "slower", "missing", "added"}), name
