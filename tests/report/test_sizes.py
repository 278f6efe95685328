"""Time against size: one chart and one table of a user's own file at several sizes."""

import msgspec

from levelfield.analysis import analyse
from levelfield.record.schema import OwnFile, OwnSizes, Run
from levelfield.report import html, sizes
from tests.records_builder import make_run


def sized(*dimensions: dict[str, int]) -> Run:
    """A record whose models stand for one file at several sizes."""
    models = ("mlp", "resnet50", "bert")[: len(dimensions)]
    run = make_run(models=models, backends=("onnxruntime", "openvino"), scenarios=("latency", "throughput"))
    also = tuple(OwnSizes(model, (), each) for model, each in zip(models[1:], dimensions[1:], strict=True))
    own = OwnFile(models[0], "a<b>.onnx", "0" * 64, 1, (), ("y",), "fp32", 17, dimensions[0], also=also)
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, own=own))


def test_a_chart_has_a_line_an_arm_and_batch() -> None:
    run = sized({"sequence": 128, "width": 8}, {"sequence": 32, "width": 8}, {"sequence": 512, "width": 8})
    (found,) = analyse(run).by_size
    assert (found.over, found.sizes) == ("sequence", (32, 128, 512))
    batches = sorted({block.case.batch for block in run.blocks})
    assert {line.held for line in found.lines} == {f"batch {batch}" for batch in batches}
    chart = sizes.chart(found)
    assert chart is not None
    assert {arm for arm, _ in chart.arms} == {"onnxruntime", "openvino"}
    assert [tick.label for tick in chart.x_ticks] == ["32", "128", "512"]
    assert all(0 <= value <= 100 for spot in chart.spots for value in (spot.x, spot.y))
    ordered = [spot.label for spot in chart.spots if spot.label.startswith("onnxruntime, batch 1, ")]
    assert [label.split(":")[0].split()[-1] for label in ordered] == ["32", "128", "512"]
    assert len(sizes.table(found).lines) == 2 * len(batches)
    page = html.render(run, analyse(run))
    assert "Time against size" in page
    assert "a<b>" not in page


def test_batches_alone_are_sizes_too() -> None:
    (found,) = analyse(sized({})).by_size
    assert (found.over, {line.held for line in found.lines}) == ("batch", {""})
    assert found.sizes[0] == 1


def test_one_size_has_no_chart() -> None:
    run = make_run(models=("mlp",), backends=("onnxruntime",), scenarios=("latency",))
    assert analyse(run).by_size == ()
