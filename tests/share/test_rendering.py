"""The page of a record made again, and compared with the one that was given."""

from pathlib import Path

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.compare.ab import compare_arms
from levelfield.compare.formats.html import within
from levelfield.compare.types import Gate
from levelfield.record import files
from levelfield.report import embedded_record, html
from levelfield.report.embedded_record import Evidence
from levelfield.share import rendering, run_evidence
from levelfield.share.page import parse_page
from tests.compare import pairs
from tests.share.evidence import TOOL_SHA256, broken, check, large, small


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence(embedded_record.carry(large(), analyse(large())))


@pytest.fixture(scope="module")
def around(evidence: Evidence) -> str:
    return parse_page(html.render(large(), analyse(large()), evidence=evidence)).around


def test_the_same_page_follows_from_the_record_and_from_the_thinned_one(evidence: Evidence, around: str) -> None:
    assert evidence.inside.embedded.thinned
    for made in (rendering.from_record(large(), evidence, around), rendering.from_inside(evidence, around)):
        assert made.differing == 0
        assert made.named == ()


def test_a_changed_figure_is_counted_and_named(evidence: Evidence, around: str) -> None:
    changed = around.replace("5 generations", "6 generations")
    made = rendering.from_inside(evidence, changed)
    assert made.differing == changed.count("6 generations")
    assert "6 generations" in str(made.named[0])
    assert made.tables.same > 0


def test_the_record_inside_is_compared_with_the_whole_one(evidence: Evidence) -> None:
    assert rendering.same_inside(large(), evidence.inside)
    assert not rendering.same_inside(small(), evidence.inside)
    assert not rendering.same_inside(msgspec.structs.replace(large(), tool_version="9"), evidence.inside)


def test_a_page_of_two_arms_holds_whatever_gate_was_asked(tmp_path: Path) -> None:
    for number, (words, gate) in enumerate(
        [((), Gate()), (("--max-slowdown", "3%"), Gate(max_slowdown=0.03)), (("--max-slowdown=x",), Gate())]
    ):
        run = msgspec.structs.replace(
            pairs.run(models=("mlp",)), command=("levelfield", "ab", *words), tool_sha256=TOOL_SHA256
        )
        folder = tmp_path / str(number)
        folder.mkdir()
        record = files.write(run, folder)
        found = analyse(run)
        evidence = run_evidence.evidence_of(record, run, found)
        compared = within(compare_arms(run, gate, evidence.inside.embedded.record_sha256))
        page = html.render(run, found, comparison=compared, evidence=evidence)
        (folder / "report.html").write_text(page)
        assert broken(check(folder)) == ""
        assert broken(check(folder / "report.html")) == ""
