"""Programs that fetch and resolve: they end with this process, however it ends, and their complaints are read."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from levelfield.paths import full, temporary_folder


class Reason(msgspec.Struct, frozen=True):
    """Why a program failed: a sentence, and what to do."""

    sentence: str
    fix: str


_PROXY = "See HTTPS_PROXY, NO_PROXY and `pip config list`."
_REASONS = (
    (
        r"Permission denied: '([^']*)'|Read-only file system: '([^']*)'",
        Reason("{} may not be written", "Give yourself the right to write there, or set LEVELFIELD_CACHE to a folder."),
    ),
    (r"407 Proxy|ProxyError|Cannot connect to proxy|Tunnel connection failed", Reason("the proxy refuses", _PROXY)),
    (
        r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate|UnknownIssuer",
        Reason(
            "the certificate of the package index is not trusted",
            "Name your authority's certificates in PIP_CERT, or in pip's configuration (`pip config set global.cert`).",
        ),
    ),
    (
        r"NameResolutionError|Name or service not known|name resolution|dns error",
        Reason("the name of the package index is not known here", "Check the network and its DNS. " + _PROXY),
    ),
    (
        r"[Tt]imed? ?out|TimeoutError|deadline has elapsed|didn't respond within",
        Reason("the package index did not answer in time", "Try again; a larger PIP_DEFAULT_TIMEOUT may help."),
    ),
    (
        r"Connection (?:refused|reset)|NewConnectionError|is unreachable|tcp connect error|closed without a reply",
        Reason("the package index cannot be reached", "Check the network, and `pip config get global.index-url`."),
    ),
    (
        r"\b(401|403)\b (Client )?Error|\b(401|403) (Unauthorized|Forbidden)",
        Reason("the package index refuses access", "See the user and password of the index in pip's configuration."),
    ),
    (
        r"\b5\d\d Server Error|HTTP error 5\d\d|ResponseError\('too many 5\d\d",
        Reason("the package index has an error of its own", "Try again later, or name another index."),
    ),
)
"""What pip and uv write, and what it means; first disks and rights, then the way to the index, then the index."""
_HOST = re.compile(r"host='([^']+)'|https?://(?:[^/\s`']*@)?([^/\s`':]+)")


def run(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output; the kernel kills it if this process is killed.

    Its temporary files lie in the cache, where a later command removes what a killed one left: the system's folder may
    be full, or small. `environment`: of the program; None: that of this process.
    """
    # A function that Python calls after a fork may hang beside threads, so another program asks the kernel (prctl(2)).
    setpriv = shutil.which("setpriv")
    bound = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv is not None else []
    with temporary_folder("program") as temporary:
        return subprocess.run(
            [*bound, *command],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(temporary), **(environment or {})},
            cwd=folder,
        )


def reason(complaint: str, folder: Path) -> Reason | None:
    """Return what the output of pip or uv means, or None if it says nothing that is known."""
    if re.search(r"No space left|Errno 28|os error 28|Disk quota|Errno 122", complaint):
        error = full(folder)
        return Reason(error.message[0].lower() + error.message[1:].rstrip("."), error.fix)
    for pattern, found in _REASONS:
        if match := re.search(pattern, complaint):
            named = next(filter(None, match.groups()), "") if match.re.groups else ""
            before = list(_HOST.finditer(complaint, 0, match.end()))[-1:]  # of a warning, it follows
            host = next((each[1] or each[2] for each in (*before, *_HOST.finditer(complaint))), "")
            index = f"the package index {host}".rstrip()
            return Reason(found.sentence.format(named).replace("the package index", index), found.fix)
    return None
