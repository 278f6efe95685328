"""A reproduction in the terminal: the answer is its first line, and texts of records are only texts."""

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console, RenderableType

from levelfield.compare.reduction import reduce
from levelfield.compare.reproduction import Reproduction, judge_reproduction
from levelfield.record.schema import Run
from levelfield.run.reproduce.intent import Foreign
from levelfield.run.reproduce.show import MOST_CHANGES, foreign, show
from tests.compare.runs import with_machine
from tests.run.reproduce.records import record

HOSTILE = "\x1b]0;owned\x07[bold]jax[/]\u202e\x9b31m"


def printed(part: RenderableType | Reproduction) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=200)
    if isinstance(part, Reproduction):
        show(part, console)
    else:
        console.print(part, highlight=False, markup=False)
    return stream.getvalue()


def held(theirs: Run, ours: Run, **options: Any) -> Reproduction:
    return judge_reproduction(reduce(theirs, ""), reduce(ours, ""), **options)


def exact(name: str, **options: Any) -> Run:
    return record(name, scenarios=["latency"], noise_scale=0.0, **options)


@pytest.mark.parametrize(("slower", "verdict", "ratio"), [(1.0, "reproduced", "1.000"), (1.5, "differs", "1.500")])
def test_the_answer_comes_first_and_every_result_has_its_ratio(slower: float, verdict: str, ratio: str) -> None:
    found = held(exact("theirs"), exact("ours", slower={"openvino": slower}))
    first, second, *rest = printed(found).splitlines()
    assert first == found.answer
    assert second == "report: theirs   here: ours"
    (row,) = [line for line in rest if line.split()[:1] == ["openvino"]]
    assert verdict in row
    assert ratio in row
    assert f"Numerics: {found.numerics}" in rest
    assert f"Speed and memory: {found.speed}" in rest
    assert "here/report (95%)" in "\n".join(rest)


def test_a_result_that_is_missing_here_has_no_ratio() -> None:
    found = held(exact("theirs"), exact("ours", backends=["jax", "onnxruntime"]))
    (row,) = [line for line in printed(found).splitlines() if line.split()[:1] == ["openvino"]]
    assert "–" in row
    assert "1.0" not in row


def test_the_environment_is_the_same_or_what_differs_is_named() -> None:
    same = held(exact("theirs"), exact("ours"))
    assert "Nothing that both records hold of the environment differs." in printed(same)
    other = held(exact("theirs"), with_machine(exact("ours"), kernel={"release": "9.9.9-made-up"}))
    text = printed(other)
    assert "What differs in the environment" in text
    assert "9.9.9-made-up" in text
    assert "Nothing that both records" not in text


def test_of_many_differences_the_rest_is_counted() -> None:
    def fitted(name: str, value: str) -> Run:
        return with_machine(exact(name), cpu={f"fact {number}": value for number in range(MOST_CHANGES + 7)})

    found = held(fitted("theirs", "a"), fitted("ours", "b"))
    changed = sum(len(group.changed) for group in found.changes)
    assert changed == MOST_CHANGES + 7
    text = printed(found)
    assert f"  and {changed - MOST_CHANGES} more" in text
    assert text.count(", fact ") == MOST_CHANGES


def test_texts_of_a_record_say_nothing_to_the_terminal() -> None:
    found = held(
        msgspec.structs.replace(exact("theirs"), id=HOSTILE),
        with_machine(exact("ours"), kernel={"release": HOSTILE}),
    )
    table = foreign([Foreign(HOSTILE, HOSTILE, "", (HOSTILE, HOSTILE))])
    for text in (printed(found), printed(table)):
        assert not [sign for sign in text if sign != "\n" and (ord(sign) < 32 or 127 <= ord(sign) < 160)]
        assert "\u202e" not in text
        assert "[bold]jax[/]" in text


def test_images_stand_beside_those_of_this_checkout() -> None:
    text = printed(
        foreign(
            [
                Foreign("jax cpu", "a" * 12, "b" * 12, ("jax 0.0.1 → 0.10.2",)),
                Foreign("own cpu", "", "", ("it was made from no lock",)),
            ]
        )
    )
    jax, own = (next(line for line in text.splitlines() if line.split()[:1] == [name]) for name in ("jax", "own"))
    assert jax.split() == ["jax", "cpu", "a" * 12, "b" * 12, "jax", "0.0.1", "→", "0.10.2"]
    assert own.split()[2:4] == ["none", "none"]
