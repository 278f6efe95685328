"""What people type on the command line, as values: lists, durations, shares."""

import re
from pathlib import Path, PurePath
from typing import Any

import click

from suite.record.bounds import LONGEST_S, SEED_BITS
from suite.report.units import parse_share

LARGEST_NUMBER = 1_000_000
"""Largest batch, and largest number of threads or processes, that is taken."""
_DURATION = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>s|m|min|h)?")
_AMOUNT = re.compile(r"\d{1,6}(\.\d{1,9})?")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


class _Names(click.ParamType[tuple[str, ...]]):
    name = "a,b,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ANN401
        if isinstance(value, tuple):
            return value
        names = tuple(word.strip() for word in str(value).split(",") if word.strip())
        if not names:
            self.fail(f"{value!r} names nothing.", param, ctx)
        return names


class _Numbers(click.ParamType[tuple[int, ...]]):
    name = "1,2,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:  # noqa: ANN401
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(int(word) for word in str(value).split(",") if word.strip())
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers such as 1,8,32.", param, ctx)
        if any(number > LARGEST_NUMBER for number in numbers):
            self.fail(f"{value!r} holds a number above {LARGEST_NUMBER:,}.", param, ctx)
        return numbers


class _Duration(click.ParamType[float]):
    name = "10m"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        seconds = float(match["count"]) * _SECONDS[match["unit"]] if match else 0.0
        if not 0 < seconds <= LONGEST_S:
            self.fail(f"{value!r} is not a duration such as 90s, 10m or 2h, of a year at the most.", param, ctx)
        return seconds


class _Percent(click.ParamType[float]):
    name = "2%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        if isinstance(value, float):
            return value
        share = parse_share(str(value))
        if share is None:
            self.fail(f"{value!r} is not a share such as 2% or 0.02.", param, ctx)
        return share


class _Injection(click.ParamType[tuple[str, str]]):
    name = "5%@arm"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:  # noqa: ANN401
        amount, _, arm = str(value).partition("@")
        number = amount.removesuffix("%")
        if not _AMOUNT.fullmatch(number) or not arm:
            self.fail(f"{value!r} is not a slowdown such as 5%@onnxruntime#2 or 0.001@torch (seconds).", param, ctx)
        return amount, arm


class _Pairs(click.ParamType[tuple[str, str]]):
    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:  # noqa: ANN401
        if isinstance(value, tuple):
            return value
        name, sign, rest = str(value).partition("=")
        if not (name and sign and rest):
            self.fail(f"{value!r} is not a pair such as {self.name}.", param, ctx)
        return name, rest


class _Size(_Pairs):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:  # noqa: ANN401
        name, size = super().convert(value, param, ctx)
        if not re.fullmatch(r"[0-9]{1,9}", size):
            self.fail(f"{value!r} is no size of a dimension, such as sequence=128.", param, ctx)
        return name, size


SIZE, VALUES = _Size("sequence=128"), _Pairs("tokens=tokens.npy")
SEED = click.IntRange(0, 2**SEED_BITS - 1)
NAMES, NUMBERS, DURATION, PERCENT, INJECTION = _Names(), _Numbers(), _Duration(), _Percent(), _Injection()

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
