"""A first ranking of two backends, before the images of the others are made."""

import functools
import itertools
from collections.abc import Callable, Collection, Mapping

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.images.base import Source
from levelfield.images.build import estimate
from levelfield.launchers.protocol import Launcher
from levelfield.plan import CANARY, Plan
from levelfield.plan.types import answers, file_key
from levelfield.record.references import parse, suffix
from levelfield.record.schema import Arm
from levelfield.run.options import Options
from levelfield.zoo import models

LABEL = "so-far"
"""Of the run that holds the first ranking."""
WORTH_S = 60.0
"""Making the other images has to take so long; else they are not waited for."""
SMALL = 50_000_000
"""Parameters of a model at the most, where others are larger: making, exporting and loading the weights of BERT takes
longer than to measure ResNet-50."""
_MADE = ("docker", "venv")
"""Launchers that make what workers run in; the third takes the interpreter that runs this tool."""


def needed(chosen: Plan, launcher: Launcher) -> dict[str, list[str]]:
    """Return the images that are needed, by the launcher that makes them."""
    found: dict[str, list[str]] = {}
    for arm in chosen.answering:
        found.setdefault(arm.launcher or launcher.kind, []).append(_image(arm))
    found.setdefault(launcher.kind, []).extend([CANARY, *chosen.exporters])
    return {place: names for place, names in found.items() if place in _MADE}


def choose(chosen: Plan, launcher: Launcher, base: Source, until_s: float | None = None) -> tuple[str, ...]:
    """Choose the two arms that are measured first, or alone where the run has to end sooner than all can be ranked.

    `until_s`: seconds in which the run has to end; None: no such end. Returns ids of the arms. Empty where to wait for
    all costs little, and where the profile ranks nothing or takes hours.
    """
    places = needed(chosen, launcher)
    if chosen.profile.clock_seconds is None or chosen.injected or list(places) != [launcher.kind]:
        return ()

    def seconds(names: Collection[str]) -> float:
        return estimate(names, launcher.kind, base).seconds

    images = _images(chosen)
    try:
        pair = quickest(images, lambda names: (seconds(names), _installed_bytes(names)))
        rest = set(places[launcher.kind]).difference({CANARY}, *(images[arm] for arm in pair))
        rest_s = seconds(rest)
    except LevelfieldError:  # the run itself raises it, once it has said that no engine answers
        return ()
    # All cases of a profile are ranked in the time that it plans; in less, each backend gets a launch or two.
    too_short = until_s is not None and until_s - rest_s < chosen.profile.clock_seconds
    return pair if rest_s >= WORTH_S or too_short else ()


def quickest(
    images: Mapping[str, frozenset[str]], cost: Callable[[frozenset[str]], tuple[float, int]]
) -> tuple[str, ...]:
    """Return the two arms that can be measured soonest; empty: no two have an image each.

    `cost`: how long some images take to make together (they may share a base), and their size: where all are there,
    the smallest load in the shortest time.
    """
    known = functools.cache(cost)
    pairs = [pair for pair in itertools.combinations(images, 2) if images[pair[0]] != images[pair[1]]]
    return min(pairs, key=lambda pair: known(images[pair[0]] | images[pair[1]]), default=())


def _installed_bytes(names: Collection[str]) -> int:
    images = [parse(name) for name in names]
    return sum(catalogue.lock(each.name, each.variant, each.version).installed_bytes for each in images)


def narrowed(options: Options, chosen: Plan, arms: tuple[str, ...]) -> Options:
    """Return the options of a run of these arms alone, on the latency of models that are soon made."""
    selection = msgspec.structs.replace(options.selection, backends=arms, scenarios=("latency",), control="none")
    if chosen.own is None:
        small = tuple(name for name in chosen.models if models.get(name).parameter_count <= SMALL)
        selection = msgspec.structs.replace(selection, models=small or chosen.models)
    return msgspec.structs.replace(options, selection=selection, labels=(*options.labels, LABEL))


def _images(chosen: Plan) -> dict[str, frozenset[str]]:
    """Return the images that each arm needs which answers all cases of latency."""
    cases = [block.case for block in chosen.blocks if block.case.scenario == "latency"]
    arms = {arm.id: arm for block in chosen.blocks for arm in block.arms if arm.ordinal == 1} if cases else {}
    found = {}
    for name, arm in arms.items():
        if all(answers(case, arm) for case in cases):
            keys = (file_key(case, arm) for case in cases)
            exporters = {key.format.image for key in keys if key is not None}.intersection(chosen.exporters)
            found[name] = frozenset({_image(arm), *exporters})
    return found


def _image(arm: Arm) -> str:
    return arm.image + suffix(arm.variant, arm.version)
