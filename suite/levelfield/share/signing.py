"""Signatures by SSH keys, since people have one: `ssh-keygen -Y`, in the namespace `levelfield`.

References
----------
OpenSSH, PROTOCOL.sshsig; ssh-keygen(1), "ALLOWED SIGNERS".
"""

import base64
import binascii
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError

NAMESPACE = "levelfield"
MAX_BYTES = 64 * 1024
"""Longest signature that is read; those of RSA keys take 1.5 KB."""
_TIMEOUT_S = 30
_ARMOUR = re.compile(r"-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]{1,76}\n)+)-----END SSH SIGNATURE-----\n")
_GOOD = re.compile(r'Good "levelfield" signature (?:for (?P<name>.+) )?with (?P<kind>\S+) key (?P<key>SHA256:\S+)')


class Checked(msgspec.Struct, frozen=True):
    """What a signature is worth."""

    good: bool
    """It is of exactly this statement, by the key that it names."""
    key: str = ""
    """Fingerprint of that key."""
    signer: str = ""
    """Name of the signer by the file of signers; empty: that file does not name the key."""


def sign(statement: bytes, key: Path) -> str:
    """Sign a statement; return the armoured signature.

    `statement`: the bytes to sign. Raises LevelfieldError: there is no such key, or it does not sign.
    """
    if not key.is_file():
        raise LevelfieldError(f"There is no key {key} to sign with.", fix="Make one with `ssh-keygen -t ed25519`.")
    result = _run(["-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key)], statement)
    text = result.stdout.decode("ascii", "replace")
    if result.returncode or not _ARMOUR.fullmatch(text):
        said = " ".join(result.stderr.decode(errors="replace").split())
        raise LevelfieldError(
            f"The statement could not be signed with {key}: {said[-200:] or 'ssh-keygen gave no reason'}",
            fix="Name a private SSH key, or a public one that your agent holds.",
        )
    return text


def check(statement: bytes, signature: str, signers: Path | None) -> Checked:
    """Return whether a signature is of a statement, and whose it is.

    `statement`, `signature`: the bytes that were signed, and the armoured signature. Neither is trusted. `signers`: a
    file of allowed signers (`name ssh-ed25519 AAAA…`, one a line); None: no signer is known. Raises LevelfieldError:
    ssh-keygen is missing, or the file of signers is.
    """
    if signers is not None and not signers.is_file():
        raise LevelfieldError(
            f"There is no file of signers {signers}.", fix="Write one line for each: NAME and the public key."
        )
    if len(signature) > MAX_BYTES or not _canonical(signature):
        return Checked(good=False)
    with tempfile.TemporaryDirectory(prefix="levelfield-signature-") as folder:
        file = Path(folder) / "statement.sig"
        file.write_text(signature, encoding="ascii")
        plain = _run(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(file)], statement)
        good = _GOOD.search(plain.stdout.decode(errors="replace"))
        if plain.returncode or good is None:
            return Checked(good=False)
        for name in _principals(file, signers):
            known = _run(["-Y", "verify", "-n", NAMESPACE, "-f", str(signers), "-I", name, "-s", str(file)], statement)
            if known.returncode == 0:
                return Checked(good=True, key=good["key"], signer=name)
    return Checked(good=True, key=good["key"])


def _canonical(signature: str) -> bool:
    """Return whether the armour is exactly what its bytes are written as: no digit may change unnoticed."""
    match = _ARMOUR.fullmatch(signature)
    if match is None:
        return False
    text = match[1].replace("\n", "")
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except (binascii.Error, ValueError):
        return False


def _principals(file: Path, signers: Path | None) -> tuple[str, ...]:
    if signers is None:
        return ()
    found = _run(["-Y", "find-principals", "-s", str(file), "-f", str(signers)], b"")
    if found.returncode:
        return ()
    return tuple(line for line in found.stdout.decode(errors="replace").splitlines() if line)


def _run(words: list[str], stdin: bytes) -> "subprocess.CompletedProcess[bytes]":
    if shutil.which("ssh-keygen") is None:
        raise LevelfieldError(
            "Signatures are made and checked with ssh-keygen, which is not installed.",
            fix="Debian: apt-get install openssh-client.",
        )
    try:
        return subprocess.run(
            ["ssh-keygen", *words],
            input=stdin,
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
            timeout=None if "sign" in words else _TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise LevelfieldError("ssh-keygen did not answer in time.") from error
