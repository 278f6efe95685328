"""What share of a network's time its operators explain: sums by hand, and nothing where too little was measured."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.record.schema import Run
from levelfield.report import insights
from levelfield.zoo import flops, models
from levelfield.zoo.operators.parts import of
from tests.analysis.insights.derived import derived
from tests.records_builder import make_run

PARTS = ("gemm-3072x128x768", "gemm-768x128x3072")
OFTEN = 12
PLACES = ("mlp", "resnet50")


def made(parts: tuple[str, ...] = PARTS, noise_scale: float = 0.0) -> Run:
    """Let latencies of other networks be of BERT's operators: a record is what it says."""
    places = PLACES[: len(parts)]
    run = make_run(models=("bert", *places), scenarios=("latency",), noise_scale=noise_scale)
    text = msgspec.json.encode(run).decode()
    for place, name in zip(places, parts, strict=True):
        text = text.replace(f'"model":"{place}","scenario":"latency"', f'"model":"{name}","scenario":"operators"')
    work = tuple(
        msgspec.structs.replace(flops.count(models.get(name)), operators=of(name, parts)) for name in ("bert", *parts)
    )
    return msgspec.structs.replace(msgspec.json.decode(text, type=Run), work=work)


def test_the_share_is_the_sum_of_the_operators_over_a_call() -> None:
    run = made()
    (found,) = derived(run).explained
    assert (found.case.model, found.operators) == ("bert", len(PARTS))
    assert 0.6 < found.macs_share < 0.7
    whole, *parts = ({row.arm: row.call_ns for row in block.rows} for block in analyse(run).timed)
    for each in found.arms:
        times = [part[each.arm] for part in parts]
        called = whole[each.arm]
        assert called is not None
        by_hand = OFTEN * sum(time.value for time in times if time is not None)
        assert each.share.value == pytest.approx(by_hand / called.value, rel=1e-6)
    assert {each.arm for each in found.arms} == set(whole)


def test_intervals_come_from_launches_and_stand_in_the_sentence() -> None:
    (found,) = derived(made(noise_scale=1.0)).explained
    assert all(
        each.share.low is not None and each.share.high is not None and each.share.low < each.share.value
        for each in found.arms
    )
    sentence = insights.explained(found)
    assert sentence.startswith("BERT-base, latency")
    assert "2 operators with 65\u00a0% of the arithmetic" in sentence
    assert f"{found.arms[0].arm} {found.arms[0].share.value:.3g} (" in sentence


def test_nothing_is_said_of_a_part_of_the_arithmetic() -> None:
    assert derived(made(PARTS[1:])).explained == ()
