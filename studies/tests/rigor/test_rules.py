"""The frozen rules: what a record names is here, and the newest file says what the product does."""

from pathlib import Path

import pytest

from studies.record import read
from studies.rigor import rules
from studies.rigor.record import Stream
from suite.compare.types import Gate
from suite.errors import LevelfieldError
from suite.plan.profiles import FULL, STANDARD
from suite.statistics import stopping, student, verdicts, warming

RECORDS = sorted(Path("reports/trials").glob("rigor-*.json"))
COMMITTED = {
    1: "8500257fde60dc76fc7f90343938e96aa468d0d8a0beb130e87b561a93673dbd",
    2: "acf4ce51ff6f660d6f7cd7ab6d77e4a42129396dc480490ce3bea161395a5e61",
    3: "e8df9276ec53a31a17935e1b18ce4b495175a94904e5970dee82419d69c321dc",
}
"""Number of each file to its SHA-256: a file that is changed after a stream was judged by it fails here."""


def test_the_newest_rules_are_what_the_product_does() -> None:
    _, found = rules.newest()
    assert (found.count, found.disturbed) == rules.built_in()
    assert found.stop.confidence == stopping.CONFIDENCE
    assert found.stop.half_width == stopping.DEFAULT_TARGET
    assert found.stop.fewest_launches == student.MIN_LAUNCHES
    assert found.verdict == rules.VerdictLooks(student.FIRST_LOOK, student.LOOK_COST)
    assert found.judge.margin == Gate().margin == verdicts.DEFAULT_MARGIN
    assert found.judge.ab_false_discovery_rate == Gate().q
    assert found.launches.bench == (STANDARD.generations, FULL.generations)


def test_files_are_never_changed() -> None:
    assert {rules.of(sha256).number: sha256 for sha256 in COMMITTED.values()} == COMMITTED
    assert len(list(rules.FOLDER.glob("rigor-*.toml"))) == len(COMMITTED)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_committed_record_names_rules_that_are_here(path: Path) -> None:
    sha256 = read(path, Stream).rules_sha256
    assert sha256 in COMMITTED.values() or path.stem in {"rigor-2026-11-21", "rigor-2026-11-22-busy"}
    assert rules.of(sha256).number >= 1


def test_records_older_than_the_files_are_judged_by_the_first_rules() -> None:
    """Their turns began after a fixed time, in which other workers might still spin."""
    first = rules.of("")
    assert first.number == 1
    assert first.settling_ns > rules.newest()[1].settling_ns == 0


def test_rules_that_are_not_here_are_refused() -> None:
    with pytest.raises(LevelfieldError, match="not in rules"):
        rules.of("0" * 64)


def test_a_record_is_not_judged_by_rules_it_was_not_begun_under(monkeypatch: pytest.MonkeyPatch) -> None:
    sha256, _ = rules.newest()
    monkeypatch.setattr(warming, "ALPHA", 0.05)
    with pytest.raises(LevelfieldError, match="counts windows by others"):
        rules.of(sha256)
