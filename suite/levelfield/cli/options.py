"""Types of command-line values, and the options that several commands share."""

import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any, Literal, TypeVar, cast

import click

from levelfield.record.bounds import LONGEST_S, SEED_BITS
from levelfield.record.files import LEAST_LATENCY_MS, MOST_LATENCY_MS
from levelfield.record.schema import Price
from levelfield.report.units import parse_price, parse_share

LARGEST_NUMBER = 1_000_000
"""Largest batch, and largest number of threads or processes, that is accepted."""
_DURATION = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>s|m|min|h)?")
_LATENCY = re.compile(r"(?P<count>\d{1,9}(?:\.\d{1,9})?)\s*(?P<unit>ms|s)")
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_AMOUNT = re.compile(r"\d{1,6}(\.\d{1,9})?")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


T = TypeVar("T")


class Parsed(click.ParamType[T]):
    """A type of values, by the function that reads them.

    Parameters
    ----------
    name
        Shown in the help, in capitals.
    parse
        Returns the value; raises ValueError with the message for the user.
    """

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:  # noqa: ANN401
        """Return the value of what was typed.

        Raises click.BadParameter: it is no such value.
        """
        if not isinstance(value, str):
            return cast("T", value)
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    if not names:
        raise ValueError(f"{text!r} names nothing.")
    return names


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(word) for word in text.split(",") if word.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a list of whole numbers such as 1,8,32.") from None
    if any(number > LARGEST_NUMBER for number in numbers):
        raise ValueError(f"{text!r} holds a number above {LARGEST_NUMBER:,}.")
    return numbers


def _items(text: str) -> int | Literal["all"]:
    if text == "all":
        return "all"
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:8]) <= LARGEST_NUMBER:
        raise ValueError(f"{text!r} is neither a number from 1 to {LARGEST_NUMBER:,} nor all.")
    return int(text)


def _cpus(text: str) -> tuple[int, ...] | Literal["all"]:
    if text == "all":
        return "all"
    ranges = [_RANGE.fullmatch(word) for word in text.split(",")]
    cpus = {cpu for each in ranges if each for cpu in range(int(each[1]), int(each[2] or each[1]) + 1)}
    if not all(each and int(each[1]) <= int(each[2] or each[1]) for each in ranges):
        raise ValueError(f"{text!r} is neither `all` nor a list of CPUs such as 0-15,32.")
    return tuple(sorted(cpus))


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match["count"]) * _SECONDS[match["unit"]] if match else 0.0
    if not 0 < seconds <= LONGEST_S:
        raise ValueError(f"{text!r} is not a duration such as 90s, 10m or 2h, of a year at the most.")
    return seconds


def _latency(text: str) -> float:
    match = _LATENCY.fullmatch(text.strip())
    milliseconds = float(match["count"]) * (1e3 if match["unit"] == "s" else 1.0) if match else 0.0
    if not LEAST_LATENCY_MS <= milliseconds <= MOST_LATENCY_MS:
        raise ValueError(f"{text!r} is not a latency such as 50ms or 1.5s, from 1 µs to an hour.")
    return milliseconds


def _percent(text: str) -> float:
    share = parse_share(text)
    if share is None:
        raise ValueError(f"{text!r} is not a share such as 2% or 0.02.")
    return share


def _price(text: str) -> Price:
    price = parse_price(text)
    if price is None:
        raise ValueError(f"{text!r} is not a price of an hour such as 1.20/h, '1.20 EUR/h' or '$1.20/h'.")
    return price


def _injection(text: str) -> tuple[str, str]:
    amount, _, arm = text.partition("@")
    if not _AMOUNT.fullmatch(amount.removesuffix("%")) or not arm:
        raise ValueError(f"{text!r} is not a slowdown such as 5%@onnxruntime#2 or 0.001@torch (seconds).")
    return amount, arm


def _pair(text: str, example: str = "tokens=tokens.npy") -> tuple[str, str]:
    name, sign, rest = text.partition("=")
    if not (name and sign and rest):
        raise ValueError(f"{text!r} is not a pair such as {example}.")
    return name, rest


def _size(text: str) -> tuple[str, str]:
    name, size = _pair(text, "sequence=128")
    if not re.fullmatch(r"[0-9]{1,9}", size):
        raise ValueError(f"{text!r} is no size of a dimension, such as sequence=128.")
    return name, size


NAMES = Parsed("name,…", _names)
NUMBERS = Parsed("n,…", _numbers)
DURATION = Parsed("duration", _duration)
PERCENT = Parsed("percent", _percent)
INJECTION = Parsed("amount@arm", _injection)
SIZE = Parsed("name=size", _size)
VALUES = Parsed("name=file.npy", _pair)
SEED = click.IntRange(0, 2**SEED_BITS - 1)

LAUNCHER = click.option(
    "--launcher",
    type=click.Choice(["docker", "venv", "host"]),
    help="Where to run workers; default: docker if a container engine answers, else venv.",
)
BUDGET = click.option(
    "--budget",
    "budget_seconds",
    type=DURATION,
    help="Time to measure, such as 90s, 10m or 2h: no pass over the cases is begun that would end later.",
)
UNTIL = click.option(
    "--until",
    "until_seconds",
    type=DURATION,
    help="End so long after the start, images included, with what is ranked by then; measures latency unless named.",
)
SO_FAR = click.option(
    "--so-far/--no-so-far",
    default=True,
    help="Rank two backends first, in a run of their own, before the images of the others are made.",
)
MARGIN = click.option("--margin", type=PERCENT, default="2%", help="Smaller differences count as no difference.")
MAX_SLOWDOWN = click.option(
    "--max-slowdown",
    type=PERCENT,
    help="Only a slowdown that is shown to exceed this is worse, such as 3%.",
)
OUTPUT = click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the comparison to a file: .md, .xml (JUnit), .json, .html or .txt. May be repeated.",
)
CSV = click.option("--csv", "csv_file", metavar="FILE", help="Write CSV to this file; - for the terminal.")
OWN_MODEL = click.option(
    "--model",
    "own",
    metavar="FILE.onnx",
    type=click.Path(path_type=Path),
    help="Your own ONNX file, measured instead of the built-in models, on all backends that read ONNX.",
)
OWN_MODULE = click.option(
    "--module",
    "module",
    metavar="FILE.py:FUNCTION",
    help="Your own network in PyTorch, JAX or TensorFlow: FUNCTION returns it with its inputs. It is run in containers "
    "alone, and compared with the first arm's answers.",
)
OWN_WEIGHTS = click.option(
    "--weights",
    "weights",
    metavar="FOLDER",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Weights of your own: a folder with config.json and safetensors (docs/weights.md). Repeatable.",
)
DATA = click.option(
    "--data",
    metavar="SET=PATH",
    multiple=True,
    help="imagenet=FOLDER, squad=FILE or glue-sst2=FOLDER: judge answers on a data set. May be repeated.",
)
DATA_ITEMS = click.option(
    "--data-items",
    type=Parsed("n|all", _items),
    help="Items of each data set; default: 32 in smoke, 500 in standard, all in full.",
)
LATENCY_TARGET = click.option(
    "--latency-target",
    "latency_target_ms",
    type=Parsed("latency", _latency),
    help="Latency that the 99th percentile must hold in loadgen-server, such as 50ms; default: that of MLPerf's rules.",
)
LOADGEN_TEST = click.option(
    "--loadgen-test",
    "loadgen_test_s",
    type=DURATION,
    help="Shortest test of MLPerf LoadGen, such as 10s; default: by profile. MLPerf's rules ask for 10m.",
)
IDENTIFY = click.option("--identify", is_flag=True, help="Store this host's name in the record.")


def _base_source(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value in {"debian", "registry"}:
        return value
    if not Path(value).is_dir():
        raise click.BadParameter(f"{value!r} is neither debian nor registry, and no folder.")
    return str(Path(value).resolve())


BASE = click.option(
    "--base",
    metavar="SOURCE",
    default="debian",
    callback=_base_source,
    help="Base of the images: debian (locked packages), registry (an image by its digest), or a folder with locks.",
)
REPORTS = click.option(
    "--reports",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    help="Folder of runs and baselines.",
)
VARIANT = click.option(
    "--variant",
    default="auto",
    help="cpu or a CUDA variant (cu12, cu13); auto: the newest one that this machine's GPU runs, cpu without a GPU.",
)
GPU = click.option("--gpu", metavar="INDEX|UUID", help="The one GPU to use; `levelfield doctor` lists them.")
CPUS = click.option(
    "--cpus",
    type=Parsed("list|all", _cpus),
    default=(),
    help="CPUs to choose from: a list such as 0-15, or all. Default: those of one NUMA node and one kind of core.",
)
PROCESSES = click.option(
    "--processes",
    type=NUMBERS,
    default=(),
    help="Processes that train one model together, or several numbers; --threads is per process.",
)
DEPTHS = click.option(
    "--depths",
    type=NUMBERS,
    default=(),
    help="Tokens of the prompt in prefill, decode and generate, or several numbers.",
)
KV_CACHES = click.option(
    "--kv-cache",
    "kv_caches",
    type=NAMES,
    default=(),
    help="Their cache of keys and values: static (of a fixed size, the default), growing, or both, ranked apart.",
)
SIGN = click.option(
    "--sign",
    metavar="KEY",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Sign the run's statement with this SSH key.",
)


PRICE = click.option(
    "--price",
    type=Parsed("amount/h", _price),
    help="What an hour of this machine costs, such as 1.20/h or 1.20EUR/h: shows the cost of a million items.",
)


def without_paths(words: list[str]) -> list[str]:
    """Return a command's words without what names this machine or its user.

    Where reports go and what signs them is left out. Of other paths only the last name is kept, and of a GPU that is
    named by its UUID only that it was named.
    """
    kept: list[str] = []
    option = ""
    for word in words:
        named = word.startswith("-")
        option, sign, value = word.partition("=") if named else (option, "", word)
        if option not in _PRIVATE:
            kept.append((f"{option}{sign}" if named else "") + (_shown(option, value) if value else ""))
        if sign or not named:
            option = ""
    return [word.encode(errors="replace").decode() for word in kept]


def _shown(option: str, value: str) -> str:
    if option == "--gpu":
        return value if value.isdigit() else "UUID"
    return _without_folder(value) if option in _FILES or _is_path(value) else value


def _is_path(word: str) -> bool:
    return word.startswith(("/", "~", "./", "../"))


_PRIVATE = ("--reports", "--sign", "--data", "--weights")
_FILES = ("--model", "--module", "--input")


def _without_folder(word: str) -> str:
    """`encoder.onnx` for `/home/someone/encoder.onnx`, `x=x.npy` for `x=/home/someone/x.npy`."""
    name, sign, path = word.rpartition("=")
    return f"{name}{sign}{PurePath(path).name}"
