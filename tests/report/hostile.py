"""A record in which every text that a stranger may choose tries to become a program."""

from typing import Any

import msgspec

from levelfield.record.schema import Absent, Failure, Run, Warning_
from tests.records_builder import make_run

PAYLOAD = (
    "</script></style></title><script>window.owned=1</script><img src=x onerror=window.owned=1>"
    "\"' onmouseover=window.owned=1 {{7*7}}{% for x in y %}<svg onload=window.owned=1>&amp;\u2028--><!--"
)

_FIXED = frozenset({"scenario", "launcher", "stage", "type", "image_id", "layers"})
"""Fields whose values come from a fixed set: the schema refuses any other."""
_DICTIONARIES = frozenset({"machine", "settings", "environment", "distributions", "plugins", "made_by", "batches"})
"""Fields that map names to values, both free."""
_FAILURE_KIND = frozenset({"crashed"})


def make_hostile(*, variants: bool) -> Run:
    """Return a record with the payload in every free text, keys of dictionaries included.

    Parameters
    ----------
    variants
        Whether arms' variants carry it too; then launches no longer belong to the arms of their block.
    """
    run = make_run(
        max_calls=20, rounds=2, generations=5, control="onnxruntime", launcher="venv", labels=("injected",),
        warnings=(Warning_(code="w", message="`m`", remedy="r", about="a"),),
        failures={("jax", "mlp"): Failure(stage="load", kind="crashed", message="m", detail="d")},
        unequal=[("torch", "bert")], disturbed=[0], supervisor_window_share=Absent("unknown"), finished=False,
    )  # fmt: skip
    settings = msgspec.structs.replace(run.settings, memory_nodes=Absent("unknown"))
    images = tuple(msgspec.structs.replace(image, plugins={"brings-it": "1.0"}) for image in run.images)
    run = msgspec.structs.replace(run, resumed=("2026-11-21T10:30:00Z",), settings=settings, images=images)
    return msgspec.convert(_poisoned(msgspec.to_builtins(run), variants=variants), Run)


def _poisoned(value: Any, *, variants: bool, key: str = "") -> Any:
    if isinstance(value, dict):
        free = key in _DICTIONARIES and "profile" not in value and "type" not in value
        return {
            (f"{name}{PAYLOAD}" if free else name): _poisoned(
                held, variants=variants, key=name if not free else "machine" if key == "machine" else ""
            )
            for name, held in value.items()
        }
    if isinstance(value, list | tuple):
        return [_poisoned(held, variants=variants, key=key) for held in value]
    if not isinstance(value, str) or key in _FIXED or value in _FAILURE_KIND or "sha256" in key:
        return value
    if key == "scenarios" or (key == "variant" and not variants):
        return value
    if key in {"arm", "canary"} and value.endswith("#2"):
        return f"{value.removesuffix('#2')}{PAYLOAD}#2"
    return f"{value}{PAYLOAD}"
