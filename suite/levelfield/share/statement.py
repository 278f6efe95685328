"""The statement of a run: an in-toto statement over the record, the images and the inputs, as plain JSON.

It is a pure function of the record and of a few digests, so that a verifier can make it again and compare.

References
----------
in-toto Attestation Framework, Statement v1, https://github.com/in-toto/attestation/tree/main/spec/v1
SLSA Provenance v1, https://slsa.dev/spec/v1.0/provenance
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from levelfield.analysis import collect
from levelfield.errors import shortened
from levelfield.record.schema import Run, elsewhere

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:levelfield:run:1"
"""A run of Levelfield; its external parameters are the command and the settings of the record."""
NAME = "statement.json"
SIGNATURE = "statement.json.sig"
RECORD = "run.json"
"""Subject: the record as JSON, to which its page unpacks."""
_PART = "report.html#record"
"""Subject of statements of earlier versions: the part of the record that pages held then."""
MAX_BYTES = 4 * 1024 * 1024


def make(run: Run, *, record_sha256: str, sboms: Mapping[str, str], part: str = "") -> bytes:
    """Return the statement of a run.

    `sboms`: name (`sbom/torch-cpu.cdx.json`) to SHA-256 of each bill of materials. `part`: digest of the part of the
    record that the page of an earlier version held.
    """
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [_named(RECORD, record_sha256), *([_named(_PART, part)] if part else [])],
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


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    digest: dict[str, str] = {}


class _RunDetails(msgspec.Struct, frozen=True):
    byproducts: tuple[_Named, ...] = ()


class _Predicate(msgspec.Struct, frozen=True, rename="camel"):
    run_details: _RunDetails


class _Statement(msgspec.Struct, frozen=True):
    subject: tuple[_Named, ...]
    predicate: _Predicate


class RunFacts(msgspec.Struct, frozen=True):
    """The digests that a statement names and a record does not."""

    record_sha256: str
    part_sha256: str
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
        part_sha256=digests.get(_PART, ""),
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
