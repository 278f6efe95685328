"""Reports for tests: a run's folder as `bench` leaves it, with statement, bills and perhaps a signature."""

import functools
import subprocess
from pathlib import Path

import msgspec

from levelfield import analysis
from levelfield.images import base, catalogue
from levelfield.paths import tool_sha256
from levelfield.record import files, page
from levelfield.record.schema import Image, Run
from levelfield.report import html
from levelfield.share import attestation
from levelfield.share.attestation import read
from levelfield.share.verify import Verified, verify
from tests.records_builder import make_run, with_launches


def image(name: str = "canary") -> Image:
    """The image of a backend, with the real digests of this checkout."""
    lock = catalogue.lock(name)
    return Image(
        name=name,
        variant="cpu",
        launcher="docker",
        tag=f"levelfield/{name}:0123",
        image_id=f"sha256:{'1' * 64}",
        layers=(f"sha256:{'2' * 64}",),
        lock_sha256=lock.sha256,
        base=base.describe("slim").label,
        distributions=lock.versions,
    )


@functools.cache
def small() -> Run:
    """A record of five launches."""
    run = make_run(
        models=("mlp",),
        backends=("jax", "onnxruntime"),
        scenarios=("latency", "memory"),
        rounds=3,
        max_calls=12,
        window_seconds=0.05,
    )
    images = tuple(map(image, ("canary", "jax", "onnxruntime")))
    for each in images[1:]:
        version = each.distributions[each.name]
        run = with_launches(run, functools.partial(msgspec.structs.replace, framework_version=version), each.name)
    return msgspec.structs.replace(run, images=images, tool_sha256=tool_sha256())


def leave(run: Run, folder: Path, key: Path | None = None) -> Path:
    """Write what a run leaves, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    evidence, missing = attestation.write_evidence(folder, run, files.encode(run), key)
    assert not missing
    text = html.render(run, analysis.analyse(run), evidence=evidence)
    (folder / page.NAME).write_text(text, encoding="utf-8")
    return folder


def check(path: Path, signers: Path | None = None) -> Verified:
    return verify(read(path), signers=signers)


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
