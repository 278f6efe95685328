"""What is published of the rigor streams is what today's code makes of their records."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from suite.trials.record import read
from suite.trials.rigor.command import judge
from suite.trials.rigor.record import Stream
from suite.trials.rigor.sequential import trial
from suite.trials.rigor.sequential_record import Sequential
from suite.trials.rigor.sequential_record import markdown as sequential_markdown
from suite.trials.rigor.show import markdown, table_lines

FOLDER = Path("reports/trials")
RECORDS = sorted(FOLDER.glob("rigor-*.json"))
ON_PAGE = ("rigor-2026-11-21", "rigor-2026-11-22-busy")


@pytest.fixture(scope="module", params=RECORDS, ids=lambda path: path.stem)
def record(request: pytest.FixtureRequest) -> tuple[Path, Stream]:
    path: Path = request.param
    return path, read(path, Stream)


@pytest.mark.extended
def test_the_findings_and_the_table_are_those_of_the_record(record: tuple[Path, Stream]) -> None:
    path, stream = record
    again = judge(stream)
    assert _alike(msgspec.to_builtins(again), msgspec.to_builtins(stream))
    assert markdown(again) == path.with_suffix(".md").read_text()


def _alike(one: Any, other: Any) -> bool:
    """Whether two records are equal but for the last digits of their floats: processors sum in different orders."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    return bool(one == other)


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
def test_the_replayed_rule_of_ab_is_that_of_the_published_streams() -> None:
    path = FOLDER / "sequential-2026-11-24.json"
    found = read(path, Sequential)
    streams = [FOLDER / f"{name}.json" for name in dict.fromkeys(each.stream for each in found.sources)]
    assert sorted(streams) == RECORDS
    again = trial(streams, found.seed, simulated=1, effects=(0.0,))
    assert again.rules_sha256 == found.rules_sha256
    assert _alike(msgspec.to_builtins(again.sources), msgspec.to_builtins(found.sources))
    still = [msgspec.structs.replace(each, counted=each.counted[:1]) for each in found.replays]
    assert _alike(msgspec.to_builtins(again.replays), msgspec.to_builtins(still))
    assert sequential_markdown(found) == path.with_suffix(".md").read_text()
