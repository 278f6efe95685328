"""What `bench` takes from a command line, at its extremes: one sentence, or a record that can be read."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from levelfield.options.values import LARGEST_NUMBER
from levelfield.record import files
from levelfield.record.bounds import LONGEST_S, SEED_BITS
from levelfield.run import bench as steps
from levelfield.schedule.resources import RunResources
from tests import canaries
from tests.reported import check_run

LONG = "x" * 5_000
EXTREMES: dict[str, tuple[str, ...]] = {
    "--profile": ("smoke", "full", LONG),
    "--models": ("mlp", "mlp,mlp", "mlp," + LONG),
    "--model": (LONG, "\x1b[31m.onnx", "/dev/null", "\x1b[31m.py:build", "x.py:", f"{LONG}/", "/dev/"),
    "--input": (f"{LONG}=x.npy", "n=999999999", f"{LONG}=1"),
    "--backends": ("openvino", "onnxruntime,openvino", ",".join(["onnxruntime"] * 300), "onnxruntime@" + LONG),
    "--scenarios": ("latency", "latency,throughput,training,cold-start,memory", LONG),
    "--precision": ("fp32", "fp32,fp32", LONG),
    "--batch": ("0", "1", "2", str(LARGEST_NUMBER), str(LARGEST_NUMBER + 1), "-1", "9" * 400),
    "--control": ("none", "onnxruntime", LONG, "\u202eonnxruntime"),
    "--inject": ("999999.999999999%@onnxruntime#2", "0.000000001@onnxruntime#2", f"5%@{LONG}", "0%@onnxruntime#2"),
    "--threads": ("0", "1", str(LARGEST_NUMBER), "9" * 400),
    "--cpus": ("all", "0", "0-99999", "3-1", "-1", ",", "9" * 400, LONG),
    "--depths": ("0", "1", "513", str(LARGEST_NUMBER), "9" * 400),
    "--kv-cache": ("static", "growing", "static,growing,growing", LONG),
    "--processes": ("0", "1", str(LARGEST_NUMBER), "9" * 400),
    "--variant": ("cpu", LONG),
    "--gpu": ("0", "-1", "9" * 400, LONG),
    "--until": ("0.0001s", f"{LONGEST_S + 1:.0f}s", "9" * 400),
    "--so-far": ("",),
    "--budget": ("0.0001s", f"{LONGEST_S:.0f}s", f"{LONGEST_S + 1:.0f}s", "9" * 400),
    "--precision-target": ("1e-300%", "99.999999%", "1e-400%", "inf"),
    "--margin": ("1e-300%", "99.999999%", "nan"),
    "--launcher": ("host", LONG),
    "--base": ("debian", "registry", LONG),
    "--reports": (LONG, "/proc/levelfield", "/dev/null"),
    "--resume": (LONG, "../../etc", "\x1b]0;x\x07"),
    "--seed": ("-1", "0", str(2**SEED_BITS - 1), str(2**SEED_BITS), "9" * 400),
    "--dry-run": ("",),
    "--yes": ("",),
    "--strict": ("",),
    "--identify": ("",),
    "--data": (
        *(LONG, "/dev/null", "imagenet", f"imagenet={LONG}", f"{LONG}=x", "squad=/dev/null", "glue-sst2=/dev/null"),
        *(f"squad:{count}=/dev/null" for count in ("0", "1", "all", "1000001", "9" * 400, LONG)),
    ),
    "--json": ("",),
    "--target": ("1e-300%", "99.999999%"),
    "--loadgen": (
        *(f"latency={value}" for value in ("0.001ms", "0.0001ms", "3600s", "3601s", "-1ms", "9" * 400 + "ms", "nan")),
        *(f"test={value}" for value in ("0.0001s", f"{LONGEST_S:.0f}s", f"{LONGEST_S + 1:.0f}s", "9" * 400)),
        *("latency=50ms,test=10m", "test=1s,test=2s", "latency", LONG),
    ),
    "--price": (
        *("1.20/h", "0/h", "0.000000001€/h", "9999999.999999999 EUR/h", "-1/h", "1e5/h", "1\u202e/h", LONG, "nan/h"),
    ),
}
"""Option to values: least and most of what is taken, and what lies beyond."""


def bench(words: list[str]) -> Result:
    return CliRunner().invoke(cli, ["bench", *words])


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run take nothing but what its options say: it is planned, begun, not measured, folded and reported."""

    def prepare(*_: object, **__: object) -> RunResources:
        return canaries.site(canaries.plan("latency"))

    monkeypatch.setattr(steps, "prepare", prepare)
    monkeypatch.setattr("levelfield.schedule.roofline.probe", lambda *_: None)
    monkeypatch.setattr(steps, "RunInProgress", lambda *_, **__: None)
    monkeypatch.setattr(steps, "_measure", lambda *_: None)


def test_every_option_has_extremes() -> None:
    command = cli.commands["bench"]
    named = {each for one in command.params if isinstance(one, click.Option) for each in one.opts if each[:2] == "--"}
    assert EXTREMES.keys() == named - {"--help"}


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    ("option", "value"),
    [(option, value) for option, values in EXTREMES.items() for value in values],
    ids=lambda text: repr(text[:40]),
)
def test_an_extreme_is_refused_or_recorded(tmp_path: Path, option: str, value: str) -> None:
    given = {
        "--profile": "smoke", "--models": "mlp", "--backends": "onnxruntime", "--scenarios": "latency",
        "--launcher": "host", "--reports": str(tmp_path / "reports"),
    }  # fmt: skip
    given[option] = value
    result = bench([word for name, text in given.items() for word in (name, text) if word])
    made = [path.parent for path in (tmp_path / "reports").glob("*/journal.jsonl")]
    assert result.exit_code in (0, 1, 2, 3), result.exception
    said = result.exception
    assert made or option == "--dry-run" or isinstance(said, SystemExit | LevelfieldError | OSError), said
    for folder in made:  # a run of which nothing was measured is a whole record all the same
        assert isinstance(said, SystemExit), said
        files.read(folder)
        check_run(folder)
