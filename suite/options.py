"""What people type on the command line, as values: lists, durations, shares."""

import math
import re
from pathlib import PurePath
from typing import Any

import click

_DURATION = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>s|m|min|h)?")
_AMOUNT = re.compile(r"\d{1,6}(\.\d{1,9})?")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


class _Names(click.ParamType[tuple[str, ...]]):
    name = "a,b,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ANN401, ARG002
        if isinstance(value, tuple):
            return value
        return tuple(word.strip() for word in str(value).split(",") if word.strip())


class _Numbers(click.ParamType[tuple[int, ...]]):
    name = "1,2,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:  # noqa: ANN401
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(word) for word in str(value).split(",") if word.strip())
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers such as 1,8,32.", param, ctx)


class _Duration(click.ParamType[float]):
    name = "10m"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        seconds = float(match["count"]) * _SECONDS[match["unit"]] if match else 0.0
        if not 0 < seconds < math.inf:
            self.fail(f"{value!r} is not a duration such as 90s, 10m or 2h.", param, ctx)
        return seconds


class _Percent(click.ParamType[float]):
    name = "2%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
        except ValueError:
            share = -1.0
        if not 0 < share < 1:
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
NAMES, NUMBERS, DURATION, PERCENT, INJECTION = _Names(), _Numbers(), _Duration(), _Percent(), _Injection()

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
    """Leave out where reports go, what signs them, and the folders of files that are measured.

    That is this machine's business, and may name a user.
    """
    kept: list[str] = []
    before = ""
    for word in words:
        if before in _FILES:
            kept.append(_without_folder(word))
        elif before not in _OWN_BUSINESS and not word.startswith(_OWN_BUSINESS):
            option, sign, rest = word.partition("=")
            kept.append(f"{option}={_without_folder(rest)}" if sign and option in _FILES else word)
        before = "" if before in _FILES or before in _OWN_BUSINESS else word
    return kept


_OWN_BUSINESS = ("--reports", "--sign", "--data")
_FILES = ("--model", "--input")


def _without_folder(word: str) -> str:
    """`encoder.onnx` for `/home/someone/encoder.onnx`, `x=x.npy` for `x=/home/someone/x.npy`."""
    name, sign, path = word.rpartition("=")
    return f"{name}{sign}{PurePath(path).name}".encode(errors="replace").decode()
