"""Names of networks whose weights are the user's own.

Such a name says all that is needed to build the network: the family, the beginning of the digest of what the weights
were read from, and each size that is not the family's usual one: `bert-1a2b3c4d+layers=6+hidden=384`.
"""

import math
import re
from types import ModuleType
from typing import Any

import msgspec

from levelfield.zoo.spec import Model

DIGITS = 8
"""Of a digest, in a name."""
MOST_PARAMETERS = 1 << 40
LONGEST_NAME = 200
"""Files of the cache are called after it."""
_NAME = re.compile(rf"(?P<family>[a-z0-9]+)-[0-9a-f]{{{DIGITS}}}(?P<sizes>(?:\+[a-z_]+=[0-9a-z.-]+)*)")
_BOOL = {"on": True, "off": False}


def name_of(family: str, sha256: str, sizes: msgspec.Struct) -> str:
    """Return the name of a network."""
    usual = type(sizes)()
    words = [
        f"+{field}={_text(getattr(sizes, field))}"
        for field in sizes.__struct_fields__
        if getattr(sizes, field) != getattr(usual, field)
    ]
    return f"{family}-{sha256[:DIGITS]}" + "".join(words)


def is_name(name: str) -> bool:
    """Return whether a name looks like one of these."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def family_of(name: str) -> str:
    """Return the family of such a name; empty where it is none."""
    found = _NAME.fullmatch(name) if len(name) <= LONGEST_NAME else None
    return found["family"] if found is not None else ""


def model_of(name: str, spec: ModuleType) -> Model:
    """Return the network of that name.

    Raises ValueError: the name is none of these, or says sizes that there cannot be.
    """
    found = _NAME.fullmatch(name)
    if found is None or len(name) > LONGEST_NAME:
        raise ValueError(f"{name[:80]!r} is no name of a network with weights of its own.")
    usual = spec.Sizes()
    values: dict[str, Any] = {}
    for word in filter(None, found["sizes"].split("+")):
        field, _, text = word.partition("=")
        if field not in usual.__struct_fields__ or field in values:
            raise ValueError(f"{name[:80]!r} names a size {field!r}, which {found['family']} has not, or twice.")
        values[field] = _value(text, getattr(usual, field))
    sizes = spec.Sizes(**values)
    msgspec.convert(msgspec.to_builtins(sizes), spec.Sizes)  # checks the bounds
    model: Model = spec.of_weights(name, sizes)
    if model.parameter_count > MOST_PARAMETERS:
        raise ValueError(f"a network of {model.parameter_count:,} parameters is larger than any that is built here")
    return model


def _text(value: Any) -> str:  # noqa: ANN401  (a size)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ".".join("x".join(map(str, each)) for each in value)
    return repr(value)


def _value(text: str, usual: Any) -> Any:  # noqa: ANN401  (a size)
    """Read a size of the same type as the usual one."""
    try:
        if isinstance(usual, bool):
            return _BOOL[text]
        if isinstance(usual, tuple):
            return tuple(tuple(map(int, each.split("x"))) for each in text.split("."))
        value = float(text) if isinstance(usual, float) else int(text)
    except (KeyError, ValueError):
        raise ValueError(f"{text[:40]!r} is no such size.") from None
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]!r} is no such size.")
    return value
