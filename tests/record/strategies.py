"""Hypothesis strategies for the record's types, made from the types themselves."""

import types
import typing
from typing import Any

import msgspec
from hypothesis import strategies as st

from levelfield.record.disturbance import Reason

INT64 = st.integers(-(2**63), 2**63 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def of(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a type that the record uses."""
    if kind == tuple[Reason, ...] | str:  # as records of earlier versions are read
        return of(tuple[Reason, ...])
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([of(each) for each in arguments])
    if origin is typing.Annotated:
        return _within(arguments[0], arguments[1])
    if origin is tuple:
        return st.lists(of(arguments[0]), max_size=3).map(tuple) if arguments else st.just(())
    if origin is dict:
        return st.dictionaries(of(arguments[0]), of(arguments[1]), max_size=3)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return st.builds(kind, **{field.name: of(field.type) for field in msgspec.structs.fields(kind)})
    simple = {
        int: INT64, float: FINITE, str: st.text(max_size=8), bool: st.booleans(), type(None): st.none(),
        Any: st.none(),
    }  # fmt: skip
    return simple[kind]


def _within(kind: Any, bounds: msgspec.Meta) -> st.SearchStrategy[Any]:
    if bounds.pattern is not None:
        return st.from_regex(bounds.pattern)
    if kind is int and isinstance(bounds.ge, int) and isinstance(bounds.le, int):
        return st.integers(bounds.ge, bounds.le)
    return of(kind)
