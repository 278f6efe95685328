"""A real PostgreSQL server for tests, in a folder of its own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """Return the folder with PostgreSQL's programs, or None where it is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max((path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


@contextmanager
def server(place: Path) -> Iterator[str]:
    """Start a server that listens on a socket only; give the URL of an empty database."""
    user = "nobody" if os.getuid() == 0 else None  # it refuses to run as root
    with tempfile.TemporaryDirectory(prefix="levelfield-pg-") as name:
        folder = Path(name)
        if user:
            shutil.chown(folder, user)
        data = folder / "data"

        def run(program: str, *words: str) -> None:
            subprocess.run(
                [place / program, *words],
                check=True,
                user=user,
                cwd=folder,
                env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
                stdout=subprocess.DEVNULL,
            )

        run("initdb", "--auth=trust", "--username=levelfield", "--no-sync", f"--pgdata={data}")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        run("pg_ctl", "--wait", f"--pgdata={data}", f"--options={options}", f"--log={folder / 'log'}", "start")
        try:
            yield f"postgresql+psycopg://levelfield@/postgres?host={folder}"
        finally:
            run("pg_ctl", "--wait", "--mode=immediate", f"--pgdata={data}", "stop")
