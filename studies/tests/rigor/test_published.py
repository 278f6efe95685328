"""What is published of the rigor streams is what today's code makes of their records."""

from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from studies.commands import read
from studies.rigor import rules
from studies.rigor.findings import apply, table_lines
from studies.rigor.record import Stream, lay_out
from studies.rigor.rivals import RULES

FOLDER = Path("reports/trials")
RECORDS = sorted(FOLDER.glob("rigor-*.json"))


@pytest.fixture(scope="module", params=RECORDS, ids=lambda path: path.stem)
def record(request: pytest.FixtureRequest) -> tuple[Path, Stream]:
    path: Path = request.param
    return path, read(path, Stream)


def test_the_rendered_record_has_the_same_table() -> None:
    stream = read(FOLDER / "rigor-2026-11-21.json", Stream)
    assert "\n".join(table_lines(stream.findings)) in (FOLDER / "rigor-2026-11-21.md").read_text()


@pytest.mark.extended
def test_the_rules_of_other_tools_make_of_a_stream_what_is_published(record: tuple[Path, Stream]) -> None:
    _, stream = record
    table = lay_out(stream.generations)
    published = {each.rule: each for each in stream.findings if not each.ours}
    again = {rule.name: apply(rule, table, rules.of(stream.rules_sha256).effects) for rule in RULES}
    for name, finding in again.items():
        assert [msgspec.to_builtins(each.wanted) for each in finding.tallies] == [
            pytest.approx(msgspec.to_builtins(each.wanted)) for each in published[name].tallies
        ]


RECORDS = sorted(Path("reports/trials").glob("rigor-*.json"))
COMMITTED = {
    1: "8500257fde60dc76fc7f90343938e96aa468d0d8a0beb130e87b561a93673dbd",
    2: "acf4ce51ff6f660d6f7cd7ab6d77e4a42129396dc480490ce3bea161395a5e61",
    3: "e8df9276ec53a31a17935e1b18ce4b495175a94904e5970dee82419d69c321dc",
}
"""Number of each file to its SHA-256: a file that is changed after a stream was judged by it fails here."""


def test_files_are_never_changed() -> None:
    assert {rules.of(sha256).number: sha256 for sha256 in COMMITTED.values()} == COMMITTED
    assert len(list(rules.FOLDER.glob("rigor-*.toml"))) == len(COMMITTED)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_committed_record_names_rules_that_are_here(path: Path) -> None:
    sha256 = read(path, Stream).rules_sha256
    assert sha256 in COMMITTED.values() or path.stem == "rigor-2026-11-21"
    assert rules.of(sha256).number == (
        next(number for number, each in COMMITTED.items() if each == sha256) if sha256 else 1
    ), "older than the files: the first"


def test_rules_that_are_not_here_are_refused() -> None:
    with pytest.raises(LevelfieldError, match="not in rules"):
        rules.of("0" * 64)
