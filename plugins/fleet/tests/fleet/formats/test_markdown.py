"""The verdict on a fleet as Markdown."""

from levelfield_fleet.formats import markdown
from tests.fleet.samples import large


def test_a_comment_has_room_for_a_large_fleet() -> None:
    written = markdown.write(large(1000, 30))
    assert len(written) < 65_536
    assert "more rows" in written or written.count("| `node-") < markdown.MOST_ROWS * 2
