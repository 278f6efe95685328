"""Names for people to type: every session makes its environment from a lock and calls the command."""

import hashlib
import tomllib
from pathlib import Path

import nox

HERE = Path(__file__).parent
LOCKS = HERE / "images" / "tool"
IMAGES = tuple(tomllib.loads((HERE / "images" / "catalogue.toml").read_text(encoding="utf-8")))

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["bench"]


def install(session: nox.Session, lock: str = "runtime.lock") -> None:
    """Install what a lock names and levelfield itself; nothing is asked of an index the second time."""
    state = hashlib.sha256((LOCKS / lock).read_bytes() + (HERE / "pyproject.toml").read_bytes()).hexdigest()
    stamp = Path(session.virtualenv.location) / "levelfield.stamp"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
        return
    session.install("--require-hashes", "--requirement", str(LOCKS / lock))
    session.install("--no-deps", "--no-build-isolation", "--no-index", "--editable", str(HERE))
    stamp.write_text(state, encoding="utf-8")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure, compare and report; builds what is missing. Options after `--` go to `levelfield bench`."""
    install(session)
    session.run("levelfield", "bench", *session.posargs)


@nox.session
@nox.parametrize("image", [nox.param(name, id=name) for name in IMAGES])
def build(session: nox.Session, image: str) -> None:
    """Build one image; options after `--` go to `levelfield build`."""
    install(session)
    session.run("levelfield", "build", image, *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve requirement sets, bases and the tool's own environment again; names after `--` choose images."""
    install(session)
    session.run("levelfield", "lock", *session.posargs)
