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


@nox.session
def rigor(session: nox.Session) -> None:
    """Measure false alarms and power beside the rules of other tools: a quiet machine for three quarters of an hour."""
    study(session, "studies.rigor.command", *session.posargs)


@nox.session
def harness(session: nox.Session) -> None:
    """Compare Levelfield's worker and four other tools with bare loops: a quiet machine for an hour or two."""
    study(session, "studies.harness.command", *session.posargs)


@nox.session
def regressions(session: nox.Session) -> None:
    """Try `levelfield ab` on released versions that are known to differ, or not to: hours, quiet."""
    study(session, "studies.regressions.trial", *session.posargs)


@nox.session
def published_comparison(session: nox.Session) -> None:
    """Run a well-known comparison of five frameworks as it was published, and fairly: two tables, in some minutes."""
    study(session, "studies.published_comparison.command", *session.posargs)


@nox.session
def reboots(session: nox.Session) -> None:
    """Try `levelfield upgrade` on a machine in QEMU that reboots into another kernel: as root, in 35 minutes."""
    study(session, "studies.reboots.command", *session.posargs)


@nox.session
def probe(session: nox.Session) -> None:
    """Measure how steady the machine's probe is, in NumPy and in C: needs gcc and a machine that is left alone."""
    study(session, "studies.probe", *session.posargs)


@nox.session
def simulation(session: nox.Session) -> None:
    """Simulate how often the rules err on a machine with two states: some minutes, and any machine."""
    study(session, "studies.simulation.command", *session.posargs)


@nox.session
def default_runs(session: nox.Session) -> None:
    """Add default runs, by their folders, to the record of runs at different hours."""
    study(session, "studies.default_runs", *session.posargs)


@nox.session
def streams(session: nox.Session) -> None:
    """Measure how often `ab` errs, on many pairs of arms at once: twenty minutes, a quiet machine."""
    study(session, "studies.streams.command", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests of the studies; options go to pytest."""
    study(session, "pytest", "studies/tests", "-m", "not framework", *session.posargs)
