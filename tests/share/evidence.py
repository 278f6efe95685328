"""Reports for tests: a run's folder as `bench` leaves it, with statement, bills and perhaps a signature."""

import functools
import hashlib
import subprocess
from pathlib import Path

import msgspec

from levelfield import analysis
from levelfield.images import base, catalogue
from levelfield.record import files
from levelfield.record.schema import Image, Run
from levelfield.report import html
from levelfield.share import run_evidence
from levelfield.share.inputs import open_input
from levelfield.share.verify import Verified, verify
from tests.records_builder import make_run

TOOL_SHA256 = hashlib.sha256(b"tool").hexdigest()


def image() -> Image:
    """The canary's image, with the real digests of this checkout."""
    lock = catalogue.lock("canary")
    return Image(
        name="canary",
        variant="cpu",
        launcher="docker",
        tag="levelfield/canary:0123",
        image_id=f"sha256:{'1' * 64}",
        layers=(f"sha256:{'2' * 64}",),
        lock_sha256=lock.sha256,
        base=base.describe("slim").label,
        distributions=lock.versions,
    )


@functools.cache
def small(max_calls: int = 12) -> Run:
    """A record of five launches, whole inside its page."""
    run = make_run(
        models=("mlp",),
        backends=("jax", "onnxruntime"),
        scenarios=("latency", "memory"),
        rounds=3,
        max_calls=max_calls,
        window_seconds=0.05,
    )
    return msgspec.structs.replace(run, images=(image(),), tool_sha256=TOOL_SHA256)


@functools.cache
def large() -> Run:
    """A record whose results are thinned inside its page."""
    return small(max_calls=1001)


def leave(run: Run, folder: Path, key: Path | None = None) -> Path:
    """Write what a run leaves, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files.write(run, folder)
    result = analysis.analyse(run)
    evidence, missing = run_evidence.write_evidence(folder, run, result, key)
    assert not missing
    (folder / "report.html").write_text(html.render(run, result, evidence=evidence), encoding="utf-8")
    return folder


def check(path: Path, signers: Path | None = None) -> Verified:
    return verify(open_input(path), tool_sha256=TOOL_SHA256, signers=signers)


def broken(found: Verified) -> str:
    """All that is wrong, as one text."""
    return "\n".join("\n".join((each.says, *each.named)) for each in found.checks if each.state == "broken")


def key(folder: Path, name: str = "ada") -> tuple[Path, Path]:
    """Make a key; return it and a file of signers that names it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path], check=True)
    signers = folder / f"{name}.signers"
    signers.write_text(f"{name}@example.org {path.with_suffix('.pub').read_text()}")
    return path, signers
