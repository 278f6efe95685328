"""A run at a glance: models across, arms down, of the scenario that matters most."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import ConvergenceBlock, TimedBlock
from levelfield.report import names, overview

Ranks: TypeAlias = Mapping[str, int]
"""Arm to its rank in one case."""


class Matrix(msgspec.Struct, frozen=True):
    """What a run says of the scenario that matters most."""

    columns: tuple[overview.Column, ...] = ()
    lines: tuple[overview.Line, ...] = ()
    ranks: dict[str, Ranks] = {}
    """By case id, of each column."""


def of(found: Analysis) -> Matrix:
    """Return a run's latency cases, or else all; empty where nothing but operators is ranked."""
    kinds = TimedBlock | ConvergenceBlock
    ranked = [
        each for each in found.blocks if isinstance(each, kinds) and each.best and not each.case.definition.operators
    ]
    chosen = [each for each in ranked if each.case.scenario == "latency"] or ranked
    anchors = zip(found.timed, names.anchors(each.case.id for each in found.timed), strict=True)
    shown = overview.tables(
        replace(found, blocks=tuple(chosen)),
        [anchor for block, anchor in anchors if any(block is each for each in chosen)],
    )
    if not shown:
        return Matrix()
    ranks = {each.case.id: {row.arm: row.rank for row in each.rows if row.rank is not None} for each in chosen}
    columns = shown[0].columns
    return Matrix(columns, shown[0].lines, {column.case.id: ranks[column.case.id] for column in columns})
