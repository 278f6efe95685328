"""Machines that are not this one: a distribution's own root file system, Python and empty engine, as root on Debian.

python tests/rigs/rig.py ubuntu2404 --user -- make bench ARGS="--profile smoke --models mlp"
"""

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
FOLDER = Path("/var/tmp/levelfield-rigs")
"""Root file systems stay here for the next session, 0.5 GB each."""
HOMES = {"root": "/root", "joerg": "/home/jörg müller"}


@dataclasses.dataclass(frozen=True)
class System:
    suite: str
    components: str = "main"
    keyring: str = ""


SYSTEMS = {
    "debian12": System("bookworm"),
    "debian13": System("trixie"),
    "ubuntu2404": System("noble", "main,universe", str(HERE / "ubuntu-archive.asc")),
}
STORES = {"default": "{}", "overlay2": '{"features": {"containerd-snapshotter": false}}'} | {
    "containerd": '{"features": {"containerd-snapshotter": true}}'
}


class RigError(Exception):
    """A machine cannot be had here."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine that runs, and its engine."""

    folder: Path
    process_id: int
    environment: dict[str, str]

    @property
    def host(self) -> str:
        """Address of its engine, from the outside too."""
        return f"unix://{self.folder}/data/run/docker.sock"

    def words(self, command: Sequence[str], *, user: str = "root") -> list[str]:
        """Return the command line that runs a command inside, in the user's checkout or home."""
        home = HOMES[user]
        fixed = {"HOME": home, "USER": user, "LOGNAME": user, "LANG": "C.UTF-8", "TERM": "dumb"}
        fixed["PATH"] = f"{home}/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        inside = f'cd "$HOME/levelfield" 2>/dev/null || cd; exec {shlex.join(command)}'
        return [
            *("nsenter", f"--target={self.process_id}", "--mount", "--pid", "--root", "--wdns=/"),
            *("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"),
            *("env", "--ignore-environment"),
            *(f"{name}={value}" for name, value in (self.environment | fixed).items()),
            *("bash", "-c", inside),
        ]

    def run(self, *command: str, user: str = "root") -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.words(command, user=user), check=False, capture_output=True, text=True)

    def copy_checkout(self, user: str) -> None:
        """Give a user the files of this checkout, as they are now and without ignored ones."""
        listed = ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = [
            name for name in subprocess.check_output(listed).split(b"\0") if (CHECKOUT / os.fsdecode(name)).is_file()
        ]
        packed = ["tar", "--create", "--directory", str(CHECKOUT), "--null", "--verbatim-files-from", "--files-from=-"]
        unpack = ["sh", "-c", "mkdir levelfield && tar --extract --directory levelfield"]
        with tempfile.TemporaryFile() as archive:
            subprocess.run(packed, input=b"\0".join(names), stdout=archive, check=True)
            archive.seek(0)
            subprocess.run(self.words(unpack, user=user), stdin=archive, check=True)


@contextlib.contextmanager
def machine(system: str, *, engine: str = "docker", store: str = "default") -> Iterator[Machine]:
    """Start a fresh machine with an empty engine, and leave nothing of it."""
    root = root_of(system, engine)
    environment, paths = ways_out()
    with _session() as folder:
        etc = folder / "upper" / "etc"
        (etc / "docker").mkdir(parents=True)
        (etc / "docker" / "daemon.json").write_text(STORES[store])
        (etc / "containers").mkdir()
        (etc / "containers" / "containers.conf").write_text(limits())
        group = f"levelfield-rig-{folder.name}"
        process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"),
                *("bash", str(HERE / "machine.sh"), str(root), str(folder), engine, group, *map(str, paths)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the script's own is its output; unshare complains of being ended
            text=True,
        )
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RigError(f"The machine {system} did not start: {process.stdout.read()}")
            (first,) = _children(process.pid)
            yield Machine(folder, first, environment)
        finally:
            # The last one of a process namespace to end is its first process.
            for first in _children(process.pid):
                os.kill(first, signal.SIGKILL)
            process.communicate()
            _remove_groups(group)


def root_of(system: str, engine: str) -> Path:
    """Return a root file system with what docs/install.md tells its users to install; made once."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("mmdebstrap", "unshare", "nsenter", "setpriv"))):
        raise RigError("Other machines need root and mmdebstrap.")
    told = re.search(r"apt-get install --yes (.+)", (CHECKOUT / "docs" / "install.md").read_text(encoding="utf-8"))
    assert told, "docs/install.md says what to install"
    packages = [engine if name == "docker.io" and engine == "podman" else name for name in told[1].split()]
    what = SYSTEMS[system]
    words = [
        "--variant=minbase",
        f"--components={what.components}",
        # As people install; a mirror that is a copy may be older than its signature allows.
        '--aptopt=APT::Install-Recommends "true"',
        '--aptopt=Acquire::Check-Valid-Until "false"',
        f"--include={','.join(packages)}",
        f"""--customize-hook=chroot "$1" useradd --home-dir '{HOMES["joerg"]}' --shell /bin/bash joerg""",
        *(['--customize-hook=chroot "$1" usermod -aG docker joerg'] if engine == "docker" else []),
        what.suite,
    ]
    key = [f"--keyring={what.keyring}"] if what.keyring else []
    root = FOLDER / "roots" / f"{system}-{engine}-{hashlib.sha256(repr(words).encode()).hexdigest()[:8]}"
    root.parent.mkdir(parents=True, exist_ok=True)
    with _locked(root.parent):
        if not root.is_dir():
            making = root.with_name(f"{root.name}.part")
            shutil.rmtree(making, ignore_errors=True)
            made = subprocess.run(
                ["mmdebstrap", "--quiet", *key, *words, str(making)], check=False, capture_output=True, text=True
            )
            if made.returncode:
                raise RigError(f"mmdebstrap could not make {system}: {made.stderr[-2000:]}")
            making.rename(root)
    return root


def ways_out() -> tuple[dict[str, str], list[Path]]:
    """Return how this host reaches package indexes: variables, and the files and folders that they name."""
    wanted = re.compile(r"PIP_.*|.*_PROXY|SSL_CERT_FILE|REQUESTS_CA_BUNDLE", re.IGNORECASE)
    pip = [sys.executable, "-m", "pip", "config", "list"]
    environment = {}
    for line in subprocess.run(pip, check=True, capture_output=True, text=True).stdout.splitlines():
        name, _, value = line.partition("=")
        if name.startswith("global."):
            environment[f"PIP_{name.removeprefix('global.').replace('-', '_').upper()}"] = value.strip("'")
    environment |= {name: value for name, value in os.environ.items() if wanted.fullmatch(name)}
    words = {word for value in environment.values() for word in value.split()}
    paths = {Path(word) for word in words if word.startswith("/")}
    # The pages of an index name files beside it.
    paths |= {Path(word.removeprefix("file://")).parent for word in words if word.startswith("file:///")}
    return environment, sorted(path for path in paths if path.exists())


@contextlib.contextmanager
def _session() -> Iterator[Path]:
    """Give a folder for one machine, and remove those that killed sessions have left: nobody holds their locks."""
    sessions = FOLDER / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        with _locked(sessions):
            for left in sessions.iterdir():
                with contextlib.suppress(BlockingIOError), _locked(left, fcntl.LOCK_NB):
                    _remove_groups(f"levelfield-rig-{left.name}")
                    shutil.rmtree(left)
            folder = Path(tempfile.mkdtemp(dir=sessions, prefix=""))
            stack.enter_context(_locked(folder))
        folder.chmod(0o755)
        for name in ("upper", "work", "machine", "data"):
            (folder / name).mkdir()
        try:
            yield folder
        finally:
            with _locked(sessions):
                shutil.rmtree(folder)


@contextlib.contextmanager
def _locked(folder: Path, how: int = 0) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(descriptor)


def _children(process_id: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError):
        return [int(word) for word in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]
    return []


def _remove_groups(group: str) -> None:
    tops = [top for pattern in ("", "*/") for top in Path("/sys/fs/cgroup").glob(f"{pattern}{group}")]
    for folder in sorted((folder for top in tops for folder in top.glob("**/")), reverse=True):
        folder.rmdir()


def limits() -> str:
    """podman asks for more files and processes than root may give away where it lacks CAP_SYS_RESOURCE."""
    files, processes = (
        min(resource.getrlimit(each)[1], 16384) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
    )
    return f'[containers]\ndefault_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--engine", choices=("docker", "podman"), default="docker")
    parser.add_argument("--store", choices=STORES, default="default", help="where Docker keeps images")
    parser.add_argument("--user", action="store_true", help="as an ordinary user, not as root")
    parser.add_argument("command", nargs="+")
    chosen = parser.parse_args()
    user = "joerg" if chosen.user else "root"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with machine(chosen.system, engine=chosen.engine, store=chosen.store) as one:
            one.copy_checkout(user)
            return subprocess.run(one.words(chosen.command, user=user), check=False).returncode
    except RigError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
