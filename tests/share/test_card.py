"""A run as a card: an SVG picture and Markdown, with texts of strangers kept within their cells."""

import dataclasses
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield import analysis
from levelfield.analysis.types import compared
from levelfield.record.schema import Failure, Run, Warning_
from levelfield.report import sentences
from levelfield.share import card
from tests.records_builder import make_run
from tests.report.hostile import make_hostile
from tests.report.test_states import BOTH, HARDLY_CALM, all_in

SVG = "{http://www.w3.org/2000/svg}"


def test_a_stranger_s_name_cannot_leave_its_cell() -> None:
    found = analysis.analyse(hostile := make_hostile(variants=False))
    told = card.markdown(hostile, found)
    for line in told.splitlines():
        if line.startswith("| ") and not line.startswith("| |"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 6, line
    assert not re.search(r"(?<!\\)<script", told)


def picture(made: Run) -> ET.Element:
    return ET.fromstring(card.svg(made, analysis.analyse(made)))


def texts(made: Run) -> list[str]:
    return [element.text or "" for element in picture(made).iter(f"{SVG}text")]


def bars(made: Run) -> list[float]:
    """Widths of the bars, the background left out."""
    return [float(rect.attrib["width"]) for rect in picture(made).iter(f"{SVG}rect")][1:]


def test_bars_are_as_long_as_what_they_stand_for() -> None:
    made = make_run(models=("resnet50",), scenarios=("latency",), backends=("jax", "openvino", "torch"))
    (block,) = analysis.analyse(made).timed
    costs = [cost for row in block.rows if (cost := compared(row, block.case)[0]) is not None]
    assert len(costs) == 3
    longest = max(cost.high or 0.0 for cost in costs)
    assert bars(made) == [round(card.BAR * cost.value / longest, 1) for cost in costs]
    lines = [float(each.attrib["x2"]) - 186 for each in picture(made).iter(f"{SVG}line")]
    assert lines == [pytest.approx(card.BAR * (cost.high or 0.0) / longest, abs=0.06) for cost in costs]
    assert any("lower is better" in text for text in texts(made))
    assert any("is fastest" in text or "within" in text or "are not separated" in text for text in texts(made))


def test_a_picture_is_as_high_as_its_rows_and_holds_eight_of_them_at_most() -> None:
    made = make_run(models=("resnet50",), scenarios=("latency",), backends=("jax", "openvino", "torch"))
    found = analysis.analyse(made)
    (block,) = found.timed

    def drawn(times: int) -> ET.Element:
        many = msgspec.structs.replace(block, rows=block.rows * times)
        return ET.fromstring(card.svg(made, dataclasses.replace(found, blocks=(many,))))

    roots = {3 * times: drawn(times) for times in (1, 2, 4)}
    assert [len(list(root.iter(f"{SVG}rect"))) - 1 for root in roots.values()] == [3, 6, 8]
    heights = [int(root.attrib["height"]) for root in roots.values()]
    assert heights == sorted(set(heights))
    for root in roots.values():
        assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
        assert all(float(each.attrib.get("y", 0)) < int(root.attrib["height"]) for each in root.iter())


def test_what_the_page_says_against_its_figures_is_in_the_picture_and_in_markdown() -> None:
    run, say = all_in("contended", HARDLY_CALM), "Contended throughout: only 20"
    found = analysis.analyse(run)
    more = dataclasses.replace(found, warnings=(Warning_(code="x", message="y", about=""),))
    assert say in " ".join(texts(run))
    assert card.markdown(run, found).splitlines()[2].startswith(say)
    assert card.markdown(run, more).splitlines()[2].endswith(" 1 more reservation in the report.")
    calm = all_in("calm", BOTH)
    warned = dataclasses.replace(analysis.analyse(calm), warnings=more.warnings)
    assert card.markdown(calm, warned).splitlines()[2] == "1 warning in the report."


def test_an_arm_without_a_number_has_its_standing_in_place_of_a_bar() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended.")
    made = make_run(
        models=("mlp",), scenarios=("latency",), backends=("jax", "torch"), failures={("jax", "mlp"): crash}
    )
    assert len(bars(made)) == 1
    assert "failed" in texts(made)


def test_markdown_has_a_table_for_every_timed_case_and_a_row_for_every_arm() -> None:
    made = make_run(models=("mlp", "bert"), scenarios=("latency", "throughput"), backends=("jax", "torch"))
    found = analysis.analyse(made)
    told = card.markdown(made, found)
    assert told.startswith("**")
    assert told.endswith("\n")
    assert [line[4:] for line in told.splitlines() if line.startswith("### ")] == [
        sentences.title(block.case) for block in found.timed
    ]
    assert told.count("items/s (95 %) |") == 2
    assert told.count("| geometric mean,") == 2
    assert told.count("| jax |") == told.count("| torch |") == 4
    assert f"Run {made.id}, {made.started[:10]}." in told


def test_a_picture_of_a_hostile_record_is_one_document_without_a_script() -> None:
    root = picture(make_hostile(variants=True))
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "rect", "text", "line", "path")
    }
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)


def test_a_bar_far_longer_than_the_others_is_cut_with_its_value_beside_it() -> None:
    made = make_run(models=("resnet50",), scenarios=("latency",), slower={"torch": 40.0})
    assert len(list(picture(made).iter(f"{SVG}path"))) == 1
    assert max(bars(made)) == card.BAR
    assert sorted(bars(made))[-2] > 0.5 * card.BAR


def test_trainings_to_a_target_have_bars_too() -> None:
    made = make_run(models=("mlp",), scenarios=("convergence",), backends=("jax", "torch"))
    assert len(bars(made)) == 2
    assert any("training to 97.0" in text for text in texts(made))


def test_a_run_of_two_arms_shows_their_ratios_and_the_margin() -> None:
    made = make_run(models=("mlp", "bert"), scenarios=("latency",), backends=("jax", "torch"), labels=("ab",))
    told = texts(made)
    assert any("New over old" in text for text in told)
    assert sum(text.startswith("jax → torch") for text in told) == 2
    assert len(list(picture(made).iter(f"{SVG}circle"))) == 2
    three = make_run(models=("mlp",), scenarios=("latency",), backends=("jax", "torch", "openvino"), labels=("ab",))
    assert len(bars(three)) == 3, "what is only labelled so is a run as any other"


def test_nothing_is_drawn_outside_the_picture() -> None:
    made = make_run(rounds=2, backends=("jax", "torch", "openvino", "tensorflow-xla"), slower={"torch": 40.0})
    for element in picture(made).iter(f"{SVG}text"):
        start, size = float(element.attrib["x"]), float(element.attrib["font-size"])
        wide = 0.6 * size * len(element.text or "")
        left = start - wide * {"start": 0, "middle": 0.5, "end": 1}[element.attrib["text-anchor"]]
        assert left >= 0, element.text
        assert left + wide <= card.WIDTH, element.text
