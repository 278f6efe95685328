"""From a stranger's record to what would be run here: names are looked up, hashes compared, nothing is believed.

A record can name models, backends and versions; it cannot bring any. What it names is looked for in this checkout, and
what this checkout would build in its place is shown beside the hash that the record tells.
"""

import itertools

import msgspec

from suite import arms as arm_names
from suite import references
from suite.beginning import Request
from suite.errors import LevelfieldError
from suite.images import catalogue
from suite.own_file import keeping
from suite.plan import Selection
from suite.records.schema import Arm, Image, Run

_SHOWN = 6


class Foreign(msgspec.Struct, frozen=True):
    """An image of the record that this checkout would not build."""

    image: str
    theirs: str
    """Digest of its lock, shortened; empty: it was made from no lock."""
    ours: str
    """The same of the lock that would be taken in its place; empty: there is none."""
    differences: tuple[str, ...]
    """Distributions that would differ, some of them; or why there is nothing to compare."""


class Intent(msgspec.Struct, frozen=True):
    """What running it again means here."""

    selection: Selection
    request: Request
    launcher: str
    foreign: tuple[Foreign, ...]


def read(run: Run) -> Intent:
    """Work out what would be run.

    Raises
    ------
    LevelfieldError
        The record names what this checkout does not know, or a user's own file that is not here, or it is of a kind
        that `bench` did not measure.
    """
    if "ab" in run.labels:
        raise LevelfieldError(
            "This is the report of an `ab`, which holds two arms against each other.",
            fix="Measure it again with the command in its last section, and read the two side by side.",
        )
    arms = {arm.id: arm for block in run.blocks for arm in block.arms}
    for name in arms:
        arm_names.parse(name)
    settings = run.settings
    own = keeping.again(settings.own) if settings.own is not None else None
    return Intent(
        selection=Selection(
            profile=settings.profile,
            models=settings.models if own is None else (),
            backends=settings.backends,
            scenarios=settings.scenarios,
            precisions=settings.precisions,
            batches_of=settings.batches,
            training_batches_of=settings.training_batches,
            threads=settings.thread_counts or (settings.threads,),
            processes=settings.process_counts,
            control=next((arm.backend for arm in arms.values() if arm.ordinal > 1), "none"),
            inject=_injected(list(arms.values())),
            variant="cpu" if settings.gpu is None else "auto",
            gpu=None if settings.gpu is None else str(settings.gpu),
            own=own,
            locked=settings.launcher != "host",
        ),
        request=Request(
            budget_seconds=settings.budget_seconds,
            precision_target=settings.precision_target,
            margin=settings.margin,
        ),
        launcher=settings.launcher,
        foreign=tuple(filter(None, map(_foreign, run.images))),
    )


def _injected(arms: list[Arm]) -> tuple[str, str] | None:
    slowed = [arm for arm in arms if arm.inject]
    if len(slowed) > 1:
        raise LevelfieldError(
            f"{len(slowed)} arms of this run were slowed down on purpose, and `bench` slows down one.",
            fix="It is no run that can be measured again.",
        )
    return (slowed[0].inject, slowed[0].id) if slowed else None


def _foreign(image: Image) -> Foreign | None:
    """Hold an image against this checkout's lock of the same name; None where they are the same."""
    label = f"{image.name} {image.variant}"
    if not image.lock_sha256:
        return Foreign(label, "", "", (image.unlocked or "it was made from no lock",))
    variant, version = catalogue.split_stem(image.variant)
    try:
        # What stands behind the @ becomes part of a file's name: it is read as what people type is.
        asked = references.parse(image.name + references.suffix(variant, version))
        lock = catalogue.lock(asked.name, asked.variant, asked.version)
    except LevelfieldError as error:
        return Foreign(label, image.lock_sha256[:12], "", (error.message.rstrip("."),))
    if lock.sha256 == image.lock_sha256:
        return None
    return Foreign(label, image.lock_sha256[:12], lock.sha256[:12], _differences(image, lock.versions))


def _differences(image: Image, ours: dict[str, str]) -> tuple[str, ...]:
    theirs = {_normal(name): version for name, version in image.distributions.items()}
    here = {_normal(name): version for name, version in ours.items()}
    found = [
        f"{name} {theirs.get(name, 'not there')} → {here[name]}"
        for name in sorted(here)
        if theirs.get(name) != here[name]
    ]
    shown = list(itertools.islice(found, _SHOWN))
    if len(found) > _SHOWN:
        shown.append(f"and {len(found) - _SHOWN} more")
    return tuple(shown) or ("the same versions, from other files",)


def _normal(name: str) -> str:
    """Spell a distribution as package indexes do (PEP 503)."""
    return name.lower().replace("_", "-").replace(".", "-")
