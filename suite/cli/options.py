"""What people type on the command line, as values: lists, durations, shares."""

import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any, TypeVar, cast

import click

from suite.record.bounds import LONGEST_S, SEED_BITS
from suite.report.units import parse_share

LARGEST_NUMBER = 1_000_000
"""Largest batch, and largest number of threads or processes, that is taken."""
_DURATION = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>s|m|min|h)?")
_AMOUNT = re.compile(r"\d{1,6}(\.\d{1,9})?")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


T = TypeVar("T")


class Parsed(click.ParamType[T]):
    """A type of values, by the function that reads them.

    Parameters
    ----------
    name
        Shown in the help, as an example.
    parse
        Returns the value; raises ValueError with the message for the user.
    """

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:  # noqa: ANN401
        """Return the value of what was typed.

        Parameters
        ----------
        value
            What was typed; a default is returned as it is.
        param, ctx
            As click has them, for the message.

        Raises
        ------
        click.BadParameter
            It is no such value.
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


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match["count"]) * _SECONDS[match["unit"]] if match else 0.0
    if not 0 < seconds <= LONGEST_S:
        raise ValueError(f"{text!r} is not a duration such as 90s, 10m or 2h, of a year at the most.")
    return seconds


def _percent(text: str) -> float:
    share = parse_share(text)
    if share is None:
        raise ValueError(f"{text!r} is not a share such as 2% or 0.02.")
    return share


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


NAMES = Parsed("a,b,…", _names)
NUMBERS = Parsed("1,2,…", _numbers)
DURATION = Parsed("10m", _duration)
PERCENT = Parsed("2%", _percent)
INJECTION = Parsed("5%@arm", _injection)
SIZE = Parsed("sequence=128", _size)
VALUES = Parsed("tokens=tokens.npy", _pair)
SEED = click.IntRange(0, 2**SEED_BITS - 1)

LAUNCHER = click.option(
    "--launcher", type=click.Choice(["docker", "venv", "host"]), default=None, help="Where to run workers."
)
BUDGET = click.option(
    "--budget",
    "budget_seconds",
    type=DURATION,
    default=None,
    help="Stop between generations after this long: 90s, 10m, 2h.",
)
MARGIN = click.option(
    "--margin", type=PERCENT, default="2%", show_default=True, help="Differences inside it count as none."
)
IDENTIFY = click.option("--identify", is_flag=True, help="Put this host's name into the record.")
BASE = click.option(
    "--base",
    type=click.Choice(["debian", "registry"]),
    default="debian",
    show_default=True,
    help="What images stand on: locked Debian packages, or an image of a registry by its digest.",
)
REPORTS = click.option(
    "--reports", type=click.Path(path_type=Path, file_okay=False), default=Path("reports"), show_default=True
)
VARIANT = click.option(
    "--variant",
    default="auto",
    show_default=True,
    help="cpu, or a CUDA variant (cu12, cu13); auto: the newest that this machine's GPU runs, or cpu without one.",
)
GPU = click.option(
    "--gpu", metavar="INDEX|UUID", default=None, help="The one GPU to use; `levelfield doctor` lists them."
)
PROCESSES = click.option(
    "--processes",
    type=NUMBERS,
    default=(),
    help="Processes that train together, or several numbers: --threads are those of each.",
)

SIGN = click.option(
    "--sign",
    metavar="KEY",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="Sign the run's statement with this SSH key.",
)


def without_paths(words: list[str]) -> list[str]:
    """Return a command's words without what names this machine or its user.

    Where reports go and what signs them is left out. Of other paths only the last name is kept, and of a GPU that is
    named by its UUID only that it was named.
    """
    kept: list[str] = []
    option = ""
    for word in words:
        if not word.startswith("-"):
            if option not in _OWN_BUSINESS:
                kept.append(_shown(option, word))
            option = ""
            continue
        option, sign, value = word.partition("=")
        if option not in _OWN_BUSINESS:
            kept.append(f"{option}={_shown(option, value)}" if sign else word)
        option = "" if sign else option
    return [word.encode(errors="replace").decode() for word in kept]


def _shown(option: str, value: str) -> str:
    if option == "--gpu":
        return value if value.isdigit() else "UUID"
    return _without_folder(value) if option in _FILES or _is_path(value) else value


def _is_path(word: str) -> bool:
    return word.startswith(("/", "~", "./", "../"))


_OWN_BUSINESS = ("--reports", "--sign", "--data")
_FILES = ("--model", "--input")


def _without_folder(word: str) -> str:
    """`encoder.onnx` for `/home/someone/encoder.onnx`, `x=x.npy` for `x=/home/someone/x.npy`."""
    name, sign, path = word.rpartition("=")
    return f"{name}{sign}{PurePath(path).name}"
