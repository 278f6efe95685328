"""Names for people to type: every session makes its environment from a lock and calls the command."""

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import nox
from nox.command import CommandFailed

HERE = Path(__file__).parent
LOCKS = HERE / "images" / "tool"
LOCKED = ("--only-binary", ":all:", "--require-hashes")
"""No source distribution: to build one runs its code."""
PLUGINS = tuple(sorted(path.parent for path in (HERE / "plugins").glob("*/pyproject.toml")))
"""Plug-ins of this tree: distributions of their own (docs/plugins.md)."""
EDITABLE = (
    *("--no-deps", "--no-build-isolation", "--no-index"),
    *(word for folder in (HERE, *PLUGINS) for word in ("--editable", str(folder))),
)
"""Levelfield itself and its plug-ins, built by what the lock holds."""

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["bench"]


def environment(session: nox.Session, name: str, lock: str) -> Path:
    """Make an environment that sessions share from a lock and this tree, unless it is there; return its programs."""
    folder = HERE / ".nox" / name
    stamp = folder / "levelfield.stamp"
    state = _state(LOCKS / lock)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != state:
        session.run(sys.executable, "-m", "virtualenv", "--quiet", "--clear", str(folder), external=True)
        python = str(folder / "bin" / "python")
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        # Half of pip's time would be to compile on one CPU. What cannot be compiled is a package's own matter.
        session.run(*pip, "--no-compile", *LOCKED, "--requirement", str(LOCKS / lock), external=True)
        session.run(python, "-m", "compileall", "-q", "-j", "0", str(folder), external=True, success_codes=[0, 1])
        session.run(*pip, *EDITABLE, external=True)
        stamp.write_text(state, encoding="utf-8")
    return folder / "bin"


def levelfield(session: nox.Session, *arguments: str) -> None:
    """Run the command from its own environment."""
    program = str(environment(session, "command", "runtime.lock") / "levelfield")
    # An interrupted run still writes its report, and says how to go on.
    session.run(program, *arguments, external=True, interrupt_timeout=None)


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
def build(session: nox.Session) -> None:
    """Build all images of the backends, or those that words after `--` name."""
    levelfield(session, "images", "build", *session.posargs)


@nox.session(python=False)
def lock(session: nox.Session) -> None:
    """Resolve requirement sets, bases and the tool's own environment again; names after `--` choose images."""
    levelfield(session, "images", "lock", *session.posargs)


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Check format, style, types, layers of imports and spelling."""
    programs = environment(session, "dev", "dev.lock")
    code = ("suite", "plugins", "studies", "tests", "docs/site", "noxfile.py", "hatch_build.py")
    pages = ("README.md", *sorted(str(path.relative_to(HERE)) for path in (HERE / "docs").rglob("*.md")))
    for program, *words in (
        ("ruff", "format", "--check", *code),
        ("ruff", "check", *code),
        ("mypy", "--strict", *code),
        ("lint-imports",),
        # A page whose figures are not those of its records.
        ("cog", "--check", "-P", "-I", ".", "-p", "from docs.site import figures", *pages),
        ("python", "tests/size.py"),
        ("codespell", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "suite", "plugins"),
    ):
        session.run(str(programs / program), *words, external=True)


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Run the tests; `-- all` the extended ones too, `-- all 1/4` a quarter of them. Other words go to pytest."""
    words = session.posargs
    # Two files at a time. Threads of OpenBLAS that wait for one another burn the one CPU that each process has.
    together = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    if not words:
        passed = _pytest(session, "-m", "not framework and not extended", *together, threads="1")
    elif words[0] == "all":
        try:
            files = part(words[1:])
        except ValueError as error:
            session.error(str(error))
        passed = _pytest(session, "-m", "not framework and not alone", *together, *files, threads="1")
        passed &= _pytest(session, "-m", "not framework and alone", *files, may_be_none=True)
    else:
        passed = _pytest(session, "-m", "not framework", *words)
    if not passed:
        session.error("Tests failed.")


def _pytest(session: nox.Session, *words: str, may_be_none: bool = False, threads: str = "") -> bool:
    """Run pytest and tell where its time went; a failure does not hide those of a second call."""
    programs = environment(session, "dev", "dev.lock")
    # Where PYTHONDONTWRITEBYTECODE is set, every command that a test starts compiles up to 300 modules.
    variables = {"PYTHONDONTWRITEBYTECODE": "", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    if threads:
        variables["OPENBLAS_NUM_THREADS"] = threads
    call = (str(programs / "pytest"), "--durations=30", "--durations-min=5", *words)
    try:
        session.run(*call, env=variables, external=True, success_codes=[0, 5] if may_be_none else [0])
    except CommandFailed:
        return False
    return True


def part(words: Sequence[str]) -> list[str]:
    """Return all files of tests, or one part of them: `1/4` is every fourth file, from the first.

    Raises
    ------
    ValueError
        There is no such part.
    """
    folders = (HERE / "tests", HERE / "studies" / "tests", *(plugin / "tests" for plugin in PLUGINS))
    files = sorted(str(path.relative_to(HERE)) for folder in folders for path in folder.rglob("test_*.py"))
    if not words:
        return files
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", " ".join(words))
    if found is None or int(found[1]) > int(found[2]):
        raise ValueError(
            f"There is no part {' '.join(words)} of the tests: the four quarters are 1/4, 2/4, 3/4 and 4/4."
        )
    number, parts = map(int, found.groups())
    return files[number - 1 :: parts]


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation as a site, in build/docs: links and commands are checked, and search works offline."""
    install(session, "docs.lock")
    session.run("mkdocs", "build", "--strict", *session.posargs, env={"PYTHONPATH": str(HERE)})


@nox.session
def pages(session: nox.Session) -> None:
    """Render every published report anew, as this version writes it, and verify it; their records stay as they are."""
    install(session)
    for record in sorted((HERE / "reports").glob("*/report.html")):
        session.run("levelfield", "report", str(record.parent), silent=True)
        session.run("levelfield", "verify", str(record.parent), silent=True)


@nox.session
def screenshots(session: nox.Session) -> None:
    """Take the pictures of the README and the guide anew, as this version renders the pages; needs Chromium."""
    install(session)
    session.run("python", "-m", "docs.site.screenshots", env={"PYTHONPATH": str(HERE)})
