"""The comparison as Markdown."""

import msgspec

from levelfield.compare.formats import markdown
from levelfield.compare.types import Comparison, Row
from tests.compare.formats.samples import upgrade


def with_rows(*rows: Row) -> Comparison:
    return msgspec.structs.replace(upgrade(), rows=rows, drifts=())


WORSE = next(row for row in upgrade().rows if row.outcome == "worse")
FINE = msgspec.structs.replace(WORSE, outcome="fine")


def test_what_is_worse_is_open_and_the_rest_is_folded() -> None:
    before, _, after = markdown.write(with_rows(WORSE, FINE)).partition("<details>")
    assert "❌" in before
    assert "✅" not in before
    assert "1 case not worse" in after
    assert "✅" in after


def test_rows_beyond_what_a_comment_holds_are_counted() -> None:
    written = markdown.write(with_rows(*[WORSE] * (markdown.MOST_ROWS + 7)))
    assert written.count("❌") == markdown.MOST_ROWS
    assert "7 more rows are left out here" in written
