"""Studies that prove the method by measurement: `nox -f studies/noxfile.py -s rigor`; options go after `--`."""

import hashlib
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "images" / "tool" / "dev.lock"
PROJECTS = (ROOT, *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml")))

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.envdir = str(ROOT / ".nox")
nox.options.sessions = ["rigor"]


def study(session: nox.Session, *words: str) -> None:
    """Run a study, from the root of the checkout, in the session's own environment."""
    session.chdir(ROOT)
    stamp = Path(session.virtualenv.location) / "levelfield.stamp"
    files = (LOCK, *(folder / "pyproject.toml" for folder in PROJECTS))
    state = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != state:
        session.install("--only-binary", ":all:", "--require-hashes", "--requirement", str(LOCK))
        editable = (word for folder in PROJECTS for word in ("--editable", str(folder)))
        session.install("--no-deps", "--no-build-isolation", "--no-index", *editable)
        stamp.write_text(state, encoding="utf-8")
    session.run("python", "-m", *words, env={"PYTHONPATH": f"{ROOT / 'suite'}:{ROOT}"})


STUDIES = {
    "studies.rigor.command": "Measure false alarms and power beside the rules of other tools: 45 minutes, quiet.",
    "studies.harness.command": "Compare Levelfield's worker and four other tools with bare loops: 1 to 2 hours, quiet.",
    "studies.regressions.trial": "Try `ab` on released versions that are known to differ, or not to: hours, quiet.",
    "studies.reboots.command": "Try `upgrade` on a QEMU machine that reboots into another kernel: as root, 35 minutes.",
    "studies.simulation.command": "Simulate how often the rules err on a machine with two states: some minutes.",
    "studies.default_runs": "Add default runs, by their folders, to the record of runs at different hours.",
    "studies.onnx_suite.command": "Send ONNX's backend tests through the reader of users' files: ten minutes or more.",
    "studies.streams": "Measure how often `ab` errs, on many pairs of arms at once: twenty minutes, quiet.",
}


def _session(module: str, purpose: str) -> None:
    def run(session: nox.Session) -> None:
        study(session, module, *session.posargs)

    run.__doc__ = purpose
    nox.session(name=module.split(".")[1])(run)


for _module, _purpose in STUDIES.items():
    _session(_module, _purpose)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests of the studies; options go to pytest."""
    study(session, "pytest", "studies/tests", "-m", "not framework", *session.posargs)
