"""What is published of the rigor streams is what today's code makes of their records."""

from pathlib import Path

import msgspec
import pytest

from studies.commands import read
from studies.rigor import rules
from studies.rigor.findings import apply
from studies.rigor.record import Stream
from studies.rigor.rivals import RULES
from studies.rigor.show import table_lines
from studies.rigor.table import lay_out

FOLDER = Path("reports/trials")
RECORDS = sorted(FOLDER.glob("rigor-*.json"))
ON_PAGE = ("rigor-2026-11-21", "rigor-2026-11-22-busy")


@pytest.fixture(scope="module", params=RECORDS, ids=lambda path: path.stem)
def record(request: pytest.FixtureRequest) -> tuple[Path, Stream]:
    path: Path = request.param
    return path, read(path, Stream)


@pytest.mark.parametrize("name", ON_PAGE)
def test_the_page_on_error_rates_has_the_same_table(name: str) -> None:
    stream = read(FOLDER / f"{name}.json", Stream)
    assert "\n".join(table_lines(stream.findings)) in Path("docs/error-rates.md").read_text()
    rows = {finding.rule for finding in stream.findings if finding.ours}
    assert rows == {
        "ab --budget 3m",
        "bench --precision-target 1% --budget 3m",
        "bench, 5 launches",
        "bench, 10 launches",
    }


def test_the_row_of_ab_is_its_rule() -> None:
    """It stops by the 95 % interval, judges at a false discovery rate of 1 %, and is neither rule alone."""
    stream = read(FOLDER / "rigor-2026-11-21.json", Stream)
    finding = next(each for each in stream.findings if each.rule.startswith("ab"))
    still, two, five = finding.tallies
    assert (still.slower + still.faster, still.same, still.decisions) == (0, 33, 35)
    assert (two.slower, five.slower) == (34, 35)
    assert finding.seconds == pytest.approx(57, abs=0.5)


@pytest.mark.extended
@pytest.mark.slow
def test_the_rules_of_other_tools_make_of_a_stream_what_is_published(record: tuple[Path, Stream]) -> None:
    _, stream = record
    table = lay_out(stream.generations)
    published = {each.rule: each for each in stream.findings if not each.ours}
    again = {rule.name: apply(rule, table, rules.of(stream.rules_sha256).effects) for rule in RULES}
    for name, finding in again.items():
        assert [msgspec.to_builtins(each.wanted) for each in finding.tallies] == [
            pytest.approx(msgspec.to_builtins(each.wanted)) for each in published[name].tallies
        ]
