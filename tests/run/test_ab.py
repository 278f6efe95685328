"""An `ab` that was cut off goes on with the batches of its record, whatever is typed."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from levelfield.compare.types import Gate
from levelfield.plan import Plan, Selection
from levelfield.run import bench
from levelfield.run.ab import measure
from levelfield.run.options import Options
from tests.records_builder import make_run


class _ReachedError(Exception):
    """The plan was made."""


def test_one_item_at_a_time_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(models=("bert",), backends=("jax", "torch"), scenarios=("throughput",), labels=("ab",))
    (block,) = run.blocks
    block = msgspec.structs.replace(block, case=msgspec.structs.replace(block.case, batch=1))
    settings = msgspec.structs.replace(run.settings, batches={"bert": (1,)})
    run = msgspec.structs.replace(run, blocks=(block,), settings=settings)
    plans: list[Plan] = []

    def conduct(chosen: Plan, *_: Any, **__: Any) -> Path:
        plans.append(chosen)
        raise _ReachedError

    monkeypatch.setattr(bench, "find", lambda *_: (Path("nowhere"), run))
    monkeypatch.setattr(bench, "conduct", conduct)
    selection = Selection(models=("bert",), scenarios=("throughput",), batches=(1,))
    options = Options(selection=selection, reports=Path("nowhere"), resume=run.id)
    with pytest.raises(_ReachedError):
        measure("jax", "torch", options, Gate(), Console(quiet=True))
    assert [each.case.id for each in plans[0].blocks] == [block.case.id]
