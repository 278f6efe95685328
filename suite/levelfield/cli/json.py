"""What commands print with `--json`: a type for each, whose JSON Schema `levelfield schema COMMAND` prints.

Of a type with a version (`format`) a field may be added later; none changes its meaning. Import it only where an answer
is printed: it imports what all commands do.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from levelfield import plan, scenarios, terminals
from levelfield.analysis import guarded
from levelfield.analysis.guarded import Record
from levelfield.analysis.types import Status
from levelfield.backends import precisions, registry
from levelfield.backends.info import PRECISIONS
from levelfield.compare.formats import json
from levelfield.compare.trend import Trends
from levelfield.compare.types import Comparison
from levelfield.errors import LevelfieldError
from levelfield.images.base import CheckedBase
from levelfield.images.catalogue import lock_names, pythons, versions
from levelfield.images.lock_check import Checked as CheckedLock
from levelfield.images.published import Published
from levelfield.machine.findings import Finding
from levelfield.names import made_of, unknown
from levelfield.plan.profiles import PROFILES
from levelfield.plugins import Plugin
from levelfield.prepare.own_model.listing import File
from levelfield.record import files, page
from levelfield.record.schema import Warning_
from levelfield.report.export import rows
from levelfield.report.tables import Value
from levelfield.run import explain as operators
from levelfield.run.explain import Explained
from levelfield.run.machine_check import MachineMeasured
from levelfield.share.attestation import Check
from levelfield.share.verify import Verdict, Verified
from levelfield.zoo import models


def print_json(answer: msgspec.Struct) -> None:
    """Print an answer as one JSON object."""
    terminals.write(json.document(msgspec.to_builtins(answer)))


class MeasuredRun(msgspec.Struct, frozen=True):
    """A run, and its results."""

    run: str
    started: str
    finished: str | None
    labels: tuple[str, ...]
    """Why it is no result: smoke, injected, demonstration; empty: it is one."""
    record: str
    """Path of the record's file: the page, or the run.json of an earlier version."""
    report: str
    """Path of the page."""
    exit_code: int
    status: Status
    warnings: tuple[Warning_, ...]
    results: tuple[dict[str, Value], ...]
    """Rows as `levelfield export --table results` writes them; a value that is not known is null."""


class Measured(msgspec.Struct, frozen=True):
    """All runs of a command."""

    format: int
    exit_code: int
    runs: tuple[MeasuredRun, ...]


def measured(record: Record, exit_code: int) -> Measured:
    """Return what a run found, as the only one of a command."""
    return Measured(1, exit_code, (run_of(record),))


def run_of(record: Record) -> MeasuredRun:
    """Return what a run found."""
    run, analysis = record.run, record.analysis
    with guarded.computing(record.name):
        results = tuple(rows("results", run, analysis))
    return MeasuredRun(
        run=run.id,
        started=run.started,
        finished=run.finished,
        labels=tuple(run.labels),
        record=str(record.file),
        report=str(record.file.parent / page.NAME),
        exit_code=analysis.exit_code,
        status=analysis.status,
        warnings=analysis.warnings,
        results=results,
    )


class Checked(msgspec.Struct, frozen=True):
    """Whether a report is unchanged."""

    format: int
    verdict: Verdict
    record_verdict: Verdict
    """Of the record and its statement, whatever the page shows."""
    exit_code: int
    """0: nothing is wrong; 1: verification failed; 3: undecided, or by none of the signers."""
    signer: str
    """Empty: nobody whom the reader knows."""
    run: str
    started: str
    checks: tuple[Check, ...]


def checked(found: Verified) -> Checked:
    """Return the result of a verification as it is printed."""
    return made_of(Checked, found, format=1, exit_code=found.exit_code, run=found.run.id, started=found.run.started)


class Examined(msgspec.Struct, frozen=True):
    """What was found out about this machine."""

    format: int
    exit_code: int
    """2: something prevents measuring; 0: nothing does."""
    findings: tuple[Finding, ...]
    measured: MachineMeasured | None = None
    """The machine's states (`--measure`); None: they were not measured."""


class Profile(msgspec.Struct, frozen=True):
    """The profile of one result."""

    result: str
    version: str
    image: str
    launcher: str
    profiler: str
    note: str
    account: operators.Account
    operators: tuple[operators.Row, ...]


class Failure(msgspec.Struct, frozen=True):
    """A result that could not be profiled, and why."""

    result: str
    message: str


class Profiles(msgspec.Struct, frozen=True):
    """All profiles that were asked for."""

    results: tuple[Profile, ...]
    failed: tuple[Failure, ...]


def profiles(found: Sequence[Explained], failed: Mapping[str, LevelfieldError], *, by_layer: bool) -> Profiles:
    """Return profiles as they are printed."""
    return Profiles(
        results=tuple(
            Profile(
                result=each.id,
                version=each.version,
                image=each.image.tag,
                launcher=each.image.launcher,
                profiler=each.profiled.source,
                note=each.profiled.note,
                account=operators.account(each.profiled),
                operators=operators.rows(each.profiled, by_layer=by_layer),
            )
            for each in found
        ),
        failed=tuple(Failure(name, str(error)) for name, error in failed.items()),
    )


class ListedModel(msgspec.Struct, frozen=True):
    """A model of the zoo."""

    name: str
    title: str
    parameters: int
    source: str
    distribution: str = ""
    """What brings it, with its version; empty: this tool."""


class ListedBackend(msgspec.Struct, frozen=True):
    """A backend, and what can be asked of it."""

    name: str
    image: str
    reads_onnx: bool
    precisions_cpu: tuple[str, ...]
    precisions_gpu: tuple[str, ...]
    variants: tuple[str, ...]
    """Builds that are locked: cpu, cu12, cu13."""
    versions: tuple[str, ...]
    """Releases that are locked, and Python versions, as they stand behind the name: `jax@0.10.2`."""
    settings: dict[str, tuple[str, ...]]
    """Setting to its values, the default first."""
    distribution: str = ""
    """What brings it, with its version; empty: this tool."""


class ListedProfile(msgspec.Struct, frozen=True):
    """How much a run measures."""

    name: str
    summary: str


class Listed(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that can be asked for by name, or the part that was asked for."""

    format: int
    models: tuple[ListedModel, ...] = ()
    backends: tuple[ListedBackend, ...] = ()
    profiles: tuple[ListedProfile, ...] = ()
    scenarios: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    file: File | None = None
    """The ONNX file that was named."""


def listed(what: str = "") -> Listed:
    """Return what can be run with this version; `what`: only this field of it."""
    answer = Listed(
        format=1,
        models=tuple(
            ListedModel(name, model.title, model.parameter_count, model.source, _label(models.plugin_of(name)))
            for name, model in ((name, models.get(name)) for name in plan.names_of_models())
        ),
        backends=tuple(map(_listed_backend, registry.all_names())),
        profiles=tuple(ListedProfile(profile.name, profile.says) for profile in PROFILES.values()),
        scenarios=tuple(scenarios.NAMES),
        operators=tuple(models.operators()),
        precisions=tuple(PRECISIONS),
    )
    return Listed(format=1, **{what: getattr(answer, what)}) if what else answer


def _listed_backend(name: str) -> ListedBackend:
    info = registry.get(name)
    return ListedBackend(
        name=name,
        image=info.image,
        reads_onnx=info.reads == "onnx",
        precisions_cpu=tuple(precisions.supported(name)),
        precisions_gpu=tuple(precisions.supported(name, "cuda")),
        variants=tuple(dict.fromkeys(variant for variant, _ in lock_names(info.image))),
        versions=(*versions(info.image), *pythons(info.image)),
        settings={setting: tuple(values) for setting, values in info.settings.items()},
        distribution=_label(registry.plugin_of(name)),
    )


def _label(plugin: Plugin | None) -> str:
    return plugin.label if plugin is not None else ""


class CheckedLocks(msgspec.Struct, frozen=True):
    """What is outdated or withdrawn in locks."""

    format: int
    exit_code: int
    """1: something is; 2: nothing is known to be, and the package index gave no answer; 0: nothing is."""
    locks: tuple[CheckedLock, ...]
    bases: tuple[CheckedBase, ...] = ()
    """Locks of Debian packages; only where no image is named."""


class Pushed(msgspec.Struct, frozen=True):
    """Where images are in a registry."""

    format: int
    file: str
    """File of digests that was written."""
    images: tuple[Published, ...]


ANSWERS: Mapping[str, type[msgspec.Struct]] = MappingProxyType(
    {
        "ab": Comparison,
        "bench": Measured,
        "compare": Comparison,
        "doctor": Examined,
        "explain": Profiles,
        "history": Trends,
        "images lock": CheckedLocks,
        "images push": Pushed,
        "list": Listed,
        "report": Measured,
        "reproduce": Comparison,
        "verify": Checked,
    }
)
"""Command to the type of its answer."""


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's --json (empty: of a record); LevelfieldError: it prints none."""
    if not command:
        return files.schema()
    if command not in ANSWERS:
        raise unknown("command with --json", command, ANSWERS)
    schema = msgspec.json.schema(ANSWERS[command])
    return _with_derived_fields(schema) if ANSWERS[command] is Comparison else schema


def _with_derived_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """Add the fields that only the JSON of a comparison has: its format, and the ids of its parts."""
    definitions = schema["$defs"]
    whole = definitions["Comparison"]
    whole["properties"]["format"] = {"const": json.FORMAT}
    whole["required"].append("format")
    for name in json.WITH_IDS:
        element = whole["properties"][name]["items"]["$ref"].rpartition("/")[2]
        definitions[element]["properties"]["id"] = {"type": "string"}
    return schema
