"""What people type, as values."""

from typing import Any

import click
import pytest

from levelfield.cli.measure import bench
from levelfield.options.registry import without_paths
from levelfield.options.values import (
    DURATION,
    LOADGEN_TEST,
    NAMES,
    NUMBERS,
    PAIR,
    PERCENT,
    PRICE_PER_HOUR,
    LoadGen,
    parse_base_url,
    parse_title,
)
from levelfield.record.schema import Price


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (NAMES, "a,b", ("a", "b")),
        (NAMES, " a , b ,", ("a", "b")),
        (NUMBERS, "1,8,32", (1, 8, 32)),
        (DURATION, "90s", 90.0),
        (DURATION, "10m", 600.0),
        (DURATION, "1.5h", 5400.0),
        (PERCENT, "2%", 0.02),
        (LOADGEN_TEST, "latency=50ms", LoadGen(50.0)),
        (LOADGEN_TEST, "test=10m,latency=1.5s", LoadGen(1500.0, 600.0)),
        (PAIR, "tokens[1]=128", ("tokens[1]", "128")),
        (PAIR, "x=a=b.npy", ("x", "a=b.npy")),
        (PRICE_PER_HOUR, "1.20/h", Price(1.2)),
        (PRICE_PER_HOUR, "1.20 EUR/h", Price(1.2, "EUR")),
        (PRICE_PER_HOUR, "$0.000000001/h", Price(1e-9, "$")),
    ],
)
def test_values(kind: click.ParamType[Any], text: str, value: object) -> None:
    assert kind.convert(text, None, None) == value
    assert kind.convert(value, None, None) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (NUMBERS, "1,two"),
        (PAIR, "sequence"),
        (PAIR, "=x.npy"),
        (LOADGEN_TEST, "latency"),
        (LOADGEN_TEST, "latency=1ms,latency=2ms"),
        (LOADGEN_TEST, "test=soon"),
        (DURATION, "soon"),
        (DURATION, "-5"),
        (DURATION, "0s"),
        (DURATION, "9" * 400),
        (PERCENT, "0"),
        (PERCENT, "100%"),
        (PERCENT, "5"),
        (PERCENT, "-2%"),
        (PERCENT, "nan"),
        (PERCENT, "1e-300%"),
        (PERCENT, "99.99999999%"),
        (PRICE_PER_HOUR, "1.20"),
        (PRICE_PER_HOUR, "0/h"),
        (PRICE_PER_HOUR, "-1/h"),
        (PRICE_PER_HOUR, "1e5/h"),
        (PRICE_PER_HOUR, "nan/h"),
        (PRICE_PER_HOUR, "$1€/h"),
        (PRICE_PER_HOUR, "1\u202e/h"),
    ],
)
def test_what_is_no_value_says_what_one_looks_like(kind: click.ParamType[Any], text: str) -> None:
    with pytest.raises(click.BadParameter, match="such as"):
        kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        (DURATION, "10", "'10' has no unit: write 10s or 10m."),
        (DURATION, " 1.5 ", "write 1.5s or 1.5m"),
        (LOADGEN_TEST, "test=10", "write 10s or 10m"),
        (PERCENT, ".5", "'.5' has no unit: write .5% or 50%."),
        (PERCENT, "0.02", "write 0.02% or 2%"),
        (NUMBERS, ",", "',' holds no number: write one, or several such as 1,8,32."),
    ],
)
def test_what_could_be_meant_in_two_ways_is_refused(kind: click.ParamType[Any], text: str, says: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        kind.convert(text, None, None)
    assert says in refused.value.message


def test_a_record_holds_no_folder_of_the_users() -> None:
    typed = [
        "bench", "--model", "/home/someone/m.onnx", "--models=mlp", "--input", "x=/home/someone/x.npy",
        "--model=/home/someone/m.onnx", "--input=x=/home/someone/x.npy", "--reports", "/home/someone", "--sign=/home/k",
        "--seed", "1", "--resume", "/home/someone/reports/a-run", "--resume=~/a-run", "--gpu", "GPU-1234",
        "--gpu=1", "--data", "/x", "--model", "/home/jane/run=7/net.onnx", "--input", "x=/home/jane/a=b/x.npy",
    ]  # fmt: skip
    assert without_paths(typed) == [
        "bench", "--model", "m.onnx", "--models=mlp", "--input", "x=x.npy",
        "--model=m.onnx", "--input=x=x.npy", "--seed", "1",
        "--resume", "a-run", "--resume=a-run", "--gpu", "UUID", "--gpu=1",
        "--model", "net.onnx", "--input", "x=x.npy",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"), [("0-2,8,1", (0, 1, 2, 8)), ("7", (7,)), ("all", "all"), ("4-4", (4,)), (None, ())]
)
def test_cpus(text: str | None, value: object) -> None:
    words = [] if text is None else ["--cpus", text]
    assert bench.make_context("bench", words).params["cpus"] == value


@pytest.mark.parametrize("text", ["", "0-", "3-1", "0,any", "0-999999999", "-1"])
def test_what_is_no_list_of_cpus_says_what_one_looks_like(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"neither `all` nor a list of CPUs such as 0-15,32\."):
        bench.make_context("bench", [f"--cpus={text}"])


@pytest.mark.parametrize(
    "text",
    ["example.org", "ftp://example.org", "javascript:alert(1)", "https://a.org/?q", "https://a.org/#x", "https://a@b.org",
     "https://a.org/a b", "https://a.org/)[x](", "https://a.org/../b", 'https://a.org/"x', "https://",
     f"https://a.org/{'x' * 500}", "https://a.org/\n"],
)  # fmt: skip
def test_an_address_that_no_site_can_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no address of a site"):
        parse_base_url(text)


def test_addresses_and_titles_are_cleaned() -> None:
    assert parse_base_url("http://a.org:80/b_c/d.e/") == "http://a.org:80/b_c/d.e"
    assert parse_title(" Our\u202e\n stacks ") == "Our\ufffd stacks"
    for wrong in ("", " \n", "x" * 121):
        with pytest.raises(ValueError, match="1 to 120 characters"):
            parse_title(wrong)
