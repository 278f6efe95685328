"""The chart of a comparison: rows in their order, the margin as a band around no change, far rows at the edge."""

import math

import msgspec

from levelfield.analysis.types import Estimate
from levelfield.compare.formats import html, ratio_chart
from levelfield.compare.types import Row
from tests.compare.formats.samples import upgrade


def rows(*ratios: float) -> list[Row]:
    found = next(row for row in upgrade().rows if row.ratio is not None)
    return [
        msgspec.structs.replace(found, ratio=Estimate(ratio, ratio * 0.98, ratio * 1.02), outcome="fine")
        for ratio in ratios
    ]


def test_rows_keep_their_order_and_places_follow_the_ratios() -> None:
    chart = ratio_chart.make(rows(1.09, 1.03, 1.0, 0.95), 0.02)
    assert chart is not None
    places = [mark.at for mark in chart.marks]
    assert places == sorted(places, reverse=True)
    assert places[2] == 50
    for mark in chart.marks:
        assert mark.low is not None
        assert mark.high is not None
        assert mark.low < mark.at < mark.high
        assert not mark.beyond


def test_the_band_is_the_margin() -> None:
    chart = ratio_chart.make(rows(1.02, 1 / 1.02, 1.09), 0.02)
    assert chart is not None
    start, width = chart.band
    assert chart.marks[1].at == start
    assert math.isclose(chart.marks[0].at, start + width, abs_tol=0.02)


def test_a_row_far_off_stands_at_the_edge_and_the_others_keep_their_room() -> None:
    chart = ratio_chart.make(rows(40.0, *[1.09] * 4, *[1.03] * 4, 0.95, 0.02), 0.02)
    assert chart is not None
    assert [mark.beyond for mark in chart.marks] == ["right", *[""] * 9, "left"]
    assert (chart.marks[0].at, chart.marks[-1].at) == (100, 0)
    assert chart.marks[1].at > 70
    assert chart.cut


def test_many_rows_are_counted_and_nothing_to_draw_is_no_chart() -> None:
    chart = ratio_chart.make(rows(*[1.01] * (ratio_chart.MOST_ROWS + 3)), 0.02)
    assert chart is not None
    assert (len(chart.marks), chart.left_out) == (ratio_chart.MOST_ROWS, 3)
    assert ratio_chart.make([msgspec.structs.replace(rows(1.0)[0], ratio=None)], 0.02) is None


def test_every_tick_lies_on_the_axis_and_no_change_is_one() -> None:
    for far in (1.01, 1.3, 2.0, 8.0, 45.0):
        chart = ratio_chart.make(rows(far), 0.02)
        assert chart is not None
        assert [tick.at for tick in chart.ticks if tick.label == "no change"] == [50]
        places = [tick.at for tick in chart.ticks]
        assert places == sorted(places)
        assert places[0] >= 0
        assert places[-1] <= 100


def test_the_page_has_the_chart_with_all_rows_in_words() -> None:
    page = html.write(upgrade())
    start = page.index('class="plot ratios"')
    assert page.index('id="cases"') < start < page.index("<table", start)
    assert page.count('class="plot-row out-') == sum(row.ratio is not None for row in upgrade().rows)
