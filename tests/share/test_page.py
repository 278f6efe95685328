"""Where two pages differ, in words that a reader finds in the page."""

import functools
import re
import time

import pytest

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.report import html
from levelfield.share.page import MOST_NAMED, differences, parse_page, tables
from tests.share.evidence import small


@functools.cache
def page() -> str:
    return parse_page(html.render(small(), analyse(small()))).around


def test_a_page_is_itself() -> None:
    assert differences(page(), page()) == (0, ())


def test_a_changed_figure_of_a_table_is_named_by_table_row_and_column() -> None:
    table = page().index("<caption>")
    row = page().index("onnxruntime", table)
    cell = re.compile(r'<td class="num">[^<]*?(\d+\.\d+)').search(page(), row)
    assert cell is not None
    wrong = "77.77"
    count, (named,) = differences(page()[: cell.start(1)] + wrong + page()[cell.end(1) :], page())
    assert count == 1
    assert wrong in named.given
    assert cell[1] in named.computed
    *_, table_name, row_name, column = named.place.split(" › ")
    assert "MLP" in named.place
    assert row_name == "onnxruntime"
    assert table_name
    assert column
    assert "the page says" in str(named)


def test_a_changed_point_of_a_chart_is_named_by_its_arm() -> None:
    point = re.search(r'<circle class="point" cx="([^"]+)%"', page())
    assert point is not None
    changed = page()[: point.start(1)] + "1" + page()[point.start(1) :]
    _, (named,) = differences(changed, page())
    assert named.given.startswith("<circle")
    assert named.place.endswith(("jax", "onnxruntime"))


def test_what_was_put_in_or_taken_away_is_named() -> None:
    heading = page().index("</h1>")
    count, named = differences(page()[:heading] + "<b>fastest</b>" + page()[heading:], page())
    assert count == 1
    assert "fastest" in named[0].given
    start = page().index("<section")
    count, named = differences(page()[:start], page())
    assert count >= 1
    assert named


def test_many_changes_are_counted_and_some_named() -> None:
    count, named = differences(re.sub(r"\d", "8", page()), page())
    assert count > 100
    assert len(named) == MOST_NAMED


@pytest.mark.parametrize("filling", ["<", "<!--", "<a ", "</", "&#", "<td>1</td>", ">", "\u2060", "<script>"])
def test_no_page_keeps_its_reader_busy(filling: str) -> None:
    began = time.process_time()
    count, _ = differences(page()[:500] + filling * 500_000, page())
    assert count
    assert time.process_time() - began < 10


def test_blocks_are_taken_out_and_may_be_there_once() -> None:
    text = html.render(small(), analyse(small()))
    parts = parse_page(text)
    assert parts.record.startswith('{"format":')
    assert parts.statement is None
    assert parts.record not in parts.around
    for wrong, says in (
        ("<!doctype html><p>no record", "carries no record"),
        (text + text, "two records"),
        (text[: text.index('id="record">') + 50], "breaks off"),
    ):
        with pytest.raises(LevelfieldError, match=says):
            parse_page(wrong)


def test_tables_that_another_version_named_otherwise_are_still_compared() -> None:
    """A page of an earlier release whose captions and headings call the MLP another name holds all the same."""
    renamed = re.sub(
        r"(<(h2|h3|caption)[^<>]*>)([^<]*)", lambda found: found[1] + found[3].replace("MLP", "perceptron"), page()
    )
    assert renamed != page()
    found = tables(renamed, page())
    assert found.same == tables(page(), page()).same
    assert (found.unmatched, found.differing) == (0, ())


def test_a_changed_figure_under_another_name_is_found() -> None:
    renamed = re.sub(r"(<caption>)([^<]*)", lambda found: found[1] + found[2].replace("MLP", "perceptron"), page())
    row = renamed.index("onnxruntime", renamed.index("perceptron"))
    cell = re.compile(r'<td class="num">[^<]*?(\d+\.\d+)').search(renamed, row)
    assert cell is not None
    found = tables(renamed[: cell.start(1)] + "77.77" + renamed[cell.end(1) :], page())
    (differing,) = found.differing
    assert "77.77" in differing.given
    assert cell[1] in differing.computed
