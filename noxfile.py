"""Names for people to type: every session makes its environment from a lock and calls the command."""

import contextlib
import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import nox
from nox.command import CommandFailed

HERE = Path(__file__).parent
LOCKS = HERE / "images" / "tool"
COMMAND = HERE / ".nox" / "command"
"""The environment of the command; sessions that only call it share this one."""
LOCKED = ("--only-binary", ":all:", "--require-hashes")
"""No source distribution: to build one runs its code."""
PLUGINS = tuple(sorted(path.parent for path in (HERE / "plugins").glob("*/pyproject.toml")))
"""Backends of this tree that are distributions of their own (docs/plugins.md)."""
EDITABLE = (
    *("--no-deps", "--no-build-isolation", "--no-index"),
    *(word for folder in (HERE, *PLUGINS) for word in ("--editable", str(folder))),
)
"""Levelfield itself and its plug-ins, built by what the lock holds."""
IMAGES = tuple(tomllib.loads((HERE / "images" / "catalogue.toml").read_text(encoding="utf-8")))

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["bench"]


def levelfield(session: nox.Session, *arguments: str) -> None:
    """Run the command from its own environment, which is made or brought up to date first."""
    lock = LOCKS / "runtime.lock"
    python = str(COMMAND / "bin" / "python")
    stamp = COMMAND / "levelfield.stamp"
    state = _state(lock)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != state:
        session.run(sys.executable, "-m", "virtualenv", "--quiet", "--clear", str(COMMAND), external=True)
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        session.run(*pip, *LOCKED, "--requirement", str(lock), external=True)
        session.run(*pip, *EDITABLE, external=True)
        stamp.write_text(state, encoding="utf-8")
    session.run(str(COMMAND / "bin" / "levelfield"), *arguments, external=True)


def install(session: nox.Session, lock: str = "dev.lock") -> None:
    """Install what a lock names and levelfield itself into the session's own environment, unless it is there."""
    stamp = Path(session.virtualenv.location) / "levelfield.stamp"
    state = _state(LOCKS / lock)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != state:
        session.install(*LOCKED, "--requirement", str(LOCKS / lock))
        session.install(*EDITABLE)
        stamp.write_text(state, encoding="utf-8")


def _state(lock: Path) -> str:
    projects = (folder / "pyproject.toml" for folder in (HERE, *PLUGINS))
    return hashlib.sha256(b"".join(path.read_bytes() for path in (lock, *projects))).hexdigest()


@nox.session(python=False)
def bench(session: nox.Session) -> None:
    """Measure, compare and report; builds what is missing. Options after `--` go to `levelfield bench`."""
    levelfield(session, "bench", *session.posargs)


@nox.session(python=False)
def compare(session: nox.Session) -> None:
    """Say what got worse between runs, and what changed: `nox -s compare -- OLD NEW`."""
    levelfield(session, "compare", *session.posargs)


@nox.session(python=False)
def publish(session: nox.Session) -> None:
    """Write the reports folder as a static site (into `site/`, unless `-- --out FOLDER`)."""
    levelfield(session, "publish", *session.posargs)


@nox.session(python=False)
@nox.parametrize("image", [nox.param(name, id=name) for name in IMAGES])
def build(session: nox.Session, image: str) -> None:
    """Build one image; options after `--` go to `levelfield build`."""
    levelfield(session, "build", image, *session.posargs)


@nox.session(python=False)
def lock(session: nox.Session) -> None:
    """Resolve requirement sets, bases and the tool's own environment again; names after `--` choose images."""
    levelfield(session, "lock", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run everything that can fail: formatting, types, rooms, tests.

    `-- fast` leaves engine and browser out; `-- all` adds every backend, every case, studies and guests in QEMU.
    """
    install(session)
    first, *others = _parts(session.posargs)
    with contextlib.nullcontext() if session.posargs not in ([], ["all"]) else _building_images(session):
        session.run("ruff", "format", "--check", "suite", "plugins", "tests", "docs/site", "noxfile.py")
        session.run("ruff", "check", "suite", "plugins", "tests", "docs/site", "noxfile.py")
        session.run("mypy", "--strict", "suite", "plugins", "tests", "docs/site", "noxfile.py")
        session.run("lint-imports")
        session.run(
            "codespell", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "suite", "plugins"
        )
        failed = [] if _passes(session, *first) else [first[0]]
    failed += [marks for marks, words in others if not _passes(session, marks, words)]
    if failed:
        session.error(f"Tests failed among: {'; '.join(failed)}.")


@contextlib.contextmanager
def _building_images(session: nox.Session) -> Iterator[None]:
    """Build all images while checks and the first tests run, which need none; wait for the last one in the end.

    To build one waits for the network and the disk half of the time. A test whose image is not there yet builds it, and
    fails where that fails: what comes of this process decides nothing.
    """
    with subprocess.Popen([f"{session.bin}/levelfield", "build"], stdout=subprocess.DEVNULL) as building:
        try:
            yield
        except BaseException:
            building.terminate()
            raise


def _parts(words: list[str]) -> list[tuple[str, list[str]]]:
    """Return the marks and the words of each call of pytest; words that name tests make it one call."""
    # Tests that need a framework run inside the environment of the oracle lock; one of the tests sees to that.
    everything = "not framework"
    if words[:1] == ["fast"]:
        return [("not docker and not browser and not framework and not slow", words[1:])]
    if words not in ([], ["all"]):
        return [(everything, words)]
    marks = everything if words else f"{everything} and not extended"
    # Two files at a time, as `tests/conftest.py` orders them; what times calls or counts processes comes after, alone.
    together = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    # Only their files: to collect all 680 again takes long. `tests/conftest.py` sees to it that none is left out.
    files = sorted((HERE / "tests").rglob("test_*.py"))
    alone = [str(path) for path in files if "mark.alone" in path.read_text(encoding="utf-8")]
    return [(f"{marks} and not alone", together), (f"{marks} and alone", alone)]


def _passes(session: nox.Session, marks: str, words: list[str]) -> bool:
    """Run pytest and tell where its time went; a failure of one part does not hide those of the next."""
    # Of processes side by side each has about one CPU, and threads of OpenBLAS that wait for one another burn it: with
    # two threads each, float64 references took half as long again.
    env = {"OPENBLAS_NUM_THREADS": "1"} if "-n" in words else {}
    # Where it is set, every command that a test starts compiles up to 300 modules: 1.1 s of CPU time.
    env["PYTHONDONTWRITEBYTECODE"] = ""
    try:
        session.run("pytest", "--durations=30", "--durations-min=5", "-m", marks, *words, env=env)
    except CommandFailed:
        return False
    return True


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation as a site, in build/docs: links and commands are checked, and search works offline."""
    install(session, "docs.lock")
    session.run("mkdocs", "build", "--strict", *session.posargs, env={"PYTHONPATH": str(HERE)})


@nox.session
def pages(session: nox.Session) -> None:
    """Render every published report anew, as this version writes it, and verify it; their records stay as they are."""
    install(session)
    for record in sorted((HERE / "reports").glob("*/run.json")):
        session.run("levelfield", "report", str(record.parent), silent=True)
        session.run("levelfield", "verify", str(record.parent), silent=True)


@nox.session
def screenshots(session: nox.Session) -> None:
    """Take the README's picture of a published report anew, as this version renders it; needs Chromium."""
    install(session)
    session.run("python", "-m", "docs.site.screenshots", env={"PYTHONPATH": str(HERE)})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Give changed files to everything that reads a stranger's: 100,000 cases, ten minutes on two cores; Linux only."""
    install(session)
    words = session.posargs
    out = [] if {"--out", "--case"} & set(words) else ["--out", str(HERE / "reports" / "trials" / "fuzz.json")]
    session.run("python", "-m", "tests.attacks", *out, *words, env={"PYTHONPATH": str(HERE)})


@nox.session
def faults(session: nox.Session) -> None:
    """Kill, starve and cut off a small run at every event of its journal: as root, in twenty minutes or so."""
    install(session)
    words = session.posargs or ["--out", str(HERE / "reports" / "trials" / "faults.json")]
    session.run("python", "-m", "tests.faults", *words, env={"PYTHONPATH": str(HERE)})
