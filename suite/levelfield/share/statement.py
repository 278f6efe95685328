"""The statement of a run: an in-toto statement over the record, the images and the inputs, as plain JSON.

It is a pure function of the record and of a few digests, so that a verifier can make it again and compare. It is signed
by SSH keys, since people have one: `ssh-keygen -Y`, in the namespace `levelfield`.

References
----------
in-toto Attestation Framework, Statement v1, https://github.com/in-toto/attestation/tree/main/spec/v1
SLSA Provenance v1, https://slsa.dev/spec/v1.0/provenance
OpenSSH, PROTOCOL.sshsig; ssh-keygen(1), "ALLOWED SIGNERS".
"""

import base64
import binascii
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from levelfield.analysis import collect
from levelfield.errors import LevelfieldError, shortened
from levelfield.record.schema import Run, elsewhere

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:levelfield:run:1"
"""A run of Levelfield; its external parameters are the command and the settings of the record."""
NAME = "statement.json"
SIGNATURE = "statement.json.sig"
RECORD = "run.json"
"""Subject: the record as JSON, to which its page unpacks."""
MAX_BYTES = 4 * 1024 * 1024
MAX_SIGNATURE_BYTES = 64 * 1024
"""Longest signature that is read; those of RSA keys take 1.5 KB."""
NAMESPACE = "levelfield"
_TIMEOUT_S = 30
_ARMOUR = re.compile(r"-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]{1,76}\n)+)-----END SSH SIGNATURE-----\n")
_GOOD = re.compile(r'Good "levelfield" signature (?:for (?P<name>.+) )?with (?P<kind>\S+) key (?P<key>SHA256:\S+)')


def make(run: Run, *, record_sha256: str, sboms: Mapping[str, str]) -> bytes:
    """Return the statement of a run; `sboms`: SHA-256 of each bill of materials by name (`sbom/torch-cpu.cdx.json`)."""
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [_named(RECORD, record_sha256)],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "command": list(run.command),
                    "settings": without_defaults(run.settings),
                    "labels": list(run.labels),
                },
                "resolvedDependencies": [*_images(run), *_artifacts(run), *_inputs(run)],
            },
            "runDetails": {
                "builder": {
                    "id": f"urn:levelfield:tool:{run.tool_sha256}",
                    "version": {"levelfield": run.tool_version},
                },
                "metadata": {
                    "invocationId": run.id,
                    "startedOn": run.started,
                    **({"finishedOn": run.finished} if run.finished is not None else {}),
                },
                "byproducts": [_named(name, sha256) for name, sha256 in sorted(sboms.items())],
            },
        },
    }
    return msgspec.json.format(msgspec.json.encode(statement, order="deterministic"), indent=2) + b"\n"


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Resolve the annotations of a type once: that takes longer than all else of a statement."""
    return msgspec.structs.fields(kind)


def without_defaults(value: object) -> object:
    """Turn structs into dictionaries that leave out every field that holds its default.

    What is written like this stays the same when a later version adds a field.
    """
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        fields: dict[str, object] = {} if config.tag is None else {str(config.tag_field): config.tag}
        for field in _fields(type(value)):
            held = getattr(value, field.name)
            default = field.default_factory() if callable(field.default_factory) else field.default
            if type(held) is not type(default) or held != default:
                fields[field.encode_name] = without_defaults(held)
        return fields
    if isinstance(value, dict):
        return {name: without_defaults(held) for name, held in value.items()}
    if isinstance(value, tuple) and value and not isinstance(value[0], int | float | str):
        return [without_defaults(held) for held in value]
    return value


def _named(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def _images(run: Run) -> Iterator[dict[str, Any]]:
    for image in run.images:
        facts = {
            "launcher": image.launcher,
            "tag": image.tag,
            "layers": list(image.layers),
            "base": image.base,
            "recipe_sha256": image.recipe_sha256,
            "worker_sha256": image.worker_sha256,
            "unlocked": image.unlocked,
            "plugins": image.plugins,
        }
        place = elsewhere(image.launcher, run.settings.launcher)
        digest = {"sha256": image.image_id.removeprefix("sha256:")} if image.image_id else {}
        yield {
            "name": f"image {image.name} {image.variant}{f' ({place})' if place else ''}",
            **({"digest": digest} if digest else {"uri": f"urn:levelfield:{image.launcher}:{image.name}"}),
            "annotations": {name: value for name, value in facts.items() if value},
        }
        if image.lock_sha256:
            yield _named(f"lock of {image.name} {image.variant}", image.lock_sha256)


def _artifacts(run: Run) -> Iterator[dict[str, Any]]:
    for artifact in run.artifacts:
        yield _named(f"artifact {artifact.name}", artifact.sha256)


def _inputs(run: Run) -> Iterator[dict[str, Any]]:
    """Name the seeded inputs of each case, which all workers reported alike."""
    seen = {
        (block.case.model, block.case.batch, launch.inputs_sha256)
        for block in run.blocks
        for _, launch in collect.launches(block)
        if launch.inputs_sha256
    }
    for model, batch, sha256 in sorted(seen):
        yield _named(f"inputs of {model}, batch {batch}", sha256)


# ---- reading what somebody else wrote --------------------------------------------------------------------------------


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    name: str = ""
    digest: dict[str, str] = {}


class _RunDetails(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    byproducts: tuple[_Named, ...] = ()


class _Predicate(msgspec.Struct, frozen=True, forbid_unknown_fields=False, rename="camel"):
    run_details: _RunDetails


class _Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    subject: tuple[_Named, ...]
    predicate: _Predicate


class RunFacts(msgspec.Struct, frozen=True):
    """The digests that a statement names and a record does not."""

    record_sha256: str
    sboms: dict[str, str]


def read(content: bytes) -> RunFacts | None:
    """Return what a statement names, or None where it is no statement of ours."""
    try:
        found = msgspec.json.decode(content, type=_Statement)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    digests = {each.name: each.digest.get("sha256", "") for each in found.subject}
    return RunFacts(
        record_sha256=digests.get(RECORD, ""),
        sboms={each.name: each.digest.get("sha256", "") for each in found.predicate.run_details.byproducts},
    )


def differences(content: bytes, expected: bytes) -> tuple[str, ...]:
    """Return the places where a statement is not the one that follows from the record.

    `content`, `expected`: JSON of the statement to verify, which is not trusted, and of the one made from the record.
    Returns at most ten; never empty, because statements of the same content may still differ in form.
    """
    try:
        actual = msgspec.json.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ("it is not JSON",)
    found: list[str] = []
    stack: list[tuple[str, Any, Any]] = [("", actual, msgspec.json.decode(expected))]
    while stack and len(found) < 10:
        path, one, other = stack.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            stack += [(f"{path}.{name}", one.get(name), other.get(name)) for name in sorted(one.keys() | other.keys())]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            stack += [(f"{path}[{index}]", *pair) for index, pair in enumerate(zip(one, other, strict=True))]
        elif type(one) is not type(other) or one != other:
            found.append(f"{path.lstrip('.')} is {_short(one)}, and by the record {_short(other)}")
    return tuple(found) or ("it is written in another form",)


def _short(value: object) -> str:
    return shortened("absent" if value is None else repr(value), 80)


class Signature(msgspec.Struct, frozen=True):
    """What a signature is worth."""

    good: bool
    """It is of exactly this statement, by the key that it names."""
    key: str = ""
    """Fingerprint of that key."""
    signer: str = ""
    """Name of the signer by the file of signers; empty: that file does not name the key."""


def sign(statement: bytes, key: Path) -> str:
    """Sign a statement; return the armoured signature.

    Raises LevelfieldError: there is no such key, or it does not sign.
    """
    if not key.is_file():
        raise LevelfieldError(f"There is no key {key} to sign with.", fix="Make one with `ssh-keygen -t ed25519`.")
    result = _ssh_keygen(["-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key)], statement)
    text = result.stdout.decode("ascii", "replace")
    if result.returncode or not _ARMOUR.fullmatch(text):
        said = " ".join(result.stderr.decode(errors="replace").split()).rstrip(".")
        raise LevelfieldError(
            f"The statement could not be signed with {key}: {said[-200:] or 'ssh-keygen gave no reason'}.",
            fix="Name a private SSH key, or a public one that your agent holds.",
        )
    return text


def check_signature(statement: bytes, signature: str, signers: Path | None) -> Signature:
    """Return whether a signature is of a statement, and whose it is.

    `statement`, `signature`: the bytes that were signed, and the armoured signature. Neither is trusted. `signers`: a
    file of allowed signers (`name ssh-ed25519 AAAA…`, one a line); None: no signer is known. Raises LevelfieldError:
    ssh-keygen is missing.
    """
    if len(signature) > MAX_SIGNATURE_BYTES or not _canonical(signature):
        return Signature(good=False)
    with tempfile.TemporaryDirectory(prefix="levelfield-signature-") as folder:
        file = Path(folder) / "statement.sig"
        file.write_text(signature, encoding="ascii")
        plain = _ssh_keygen(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(file)], statement)
        good = _GOOD.search(plain.stdout.decode(errors="replace"))
        if plain.returncode or good is None:
            return Signature(good=False)
        for name in _principals(file, signers):
            known = _ssh_keygen(
                ["-Y", "verify", "-n", NAMESPACE, "-f", str(signers), "-I", name, "-s", str(file)], statement
            )
            if known.returncode == 0:
                return Signature(good=True, key=good["key"], signer=name)
    return Signature(good=True, key=good["key"])


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
    found = _ssh_keygen(["-Y", "find-principals", "-s", str(file), "-f", str(signers)], b"")
    if found.returncode:
        return ()
    return tuple(line for line in found.stdout.decode(errors="replace").splitlines() if line)


def _ssh_keygen(words: list[str], stdin: bytes) -> "subprocess.CompletedProcess[bytes]":
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
