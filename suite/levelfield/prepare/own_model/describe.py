"""From the inputs that an ONNX file declares to what is measured; what is impossible is refused with its reason."""

import hashlib
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import dimensions, operators
from levelfield.prepare.own_model.dimensions import MAX_SIZE
from levelfield.prepare.own_model.onnx_format import Dimension, Graph, Value
from levelfield.record.schema import OwnFile, OwnInput
from levelfield.worker.sources import digest_of
from levelfield.zoo.spec import DTYPES

DIGEST_CHARS = 8
STEM_CHARS = 40
MAX_NUMBERS = 1 << 30
_UNKIND = re.compile(r"[^A-Za-z0-9._-]+")
_BATCH = re.compile(r"(?i)batch|^(n|b|bs)$")
"""What a batch is called, where inputs begin with several dimensions without a size."""
_EXAMPLE, _EXAMPLE_SIDE = 128, 224
"""Sizes in the command that an error proposes: of a sequence, and of an image."""
_IMAGE_DIMENSIONS = 4


class Content(msgspec.Struct, frozen=True):
    """A file that is kept here, with those beside it."""

    name: str
    sha256: str
    size_bytes: int
    beside: dict[str, str] = {}

    @property
    def identity(self) -> str:
        """Digest of all of it."""
        return digest_of({"": self.sha256, **self.beside}) if self.beside else self.sha256


class Place(NamedTuple):
    """One dimension of one input."""

    input: Value
    axis: int
    side: Dimension

    @property
    def numbered(self) -> str:
        """Its name where it has none of its own: `tokens[1]`."""
        return f"{self.input.name}[{self.axis}]"

    @property
    def symbols(self) -> tuple[str, ...]:
        """What must be known for its size: symbols, or itself."""
        return dimensions.symbols(self.side.name) if self.side.name else (self.numbered,)

    @property
    def is_symbol(self) -> bool:
        """Whether it is computed from nothing else."""
        return self.symbols in {(self.side.name,), (self.numbered,)}


class Sizes(NamedTuple):
    """What is known of the dimensions without a size."""

    places: tuple[Place, ...]
    """All that have none in the file, or the size 0, for which another can be given."""
    known: dict[str, int]
    """By symbol, or by index."""
    batch: frozenset[str]
    """Symbols that stand for the batch; several where they have no name."""
    missing: dict[str, Place]
    """Symbols whose size must be given."""


def describe(content: Content, graph: Graph, given: Mapping[str, int], values: Mapping[str, str]) -> OwnFile:
    """Say what will be measured.

    `given`: sizes of dimensions. `values`: SHA-256 of the files with values that were given, by input. Raises
    LevelfieldError: a dimension has no size, an input or output is of a kind that cannot be given or compared, or what
    was given is for none of them.
    """
    name = content.name
    for refusal in refusals(name, graph):
        raise refusal
    for each in values:
        if each not in (inputs := [value.name for value in graph.inputs]):
            raise LevelfieldError(f"{name} has no input {each}.", fix=f"Its inputs are {', '.join(inputs)}.")
    sizes = resolve(name, graph, given)
    if sizes.missing:
        raise missing(name, sizes, given)
    divisors = operators.divisors(graph)
    found = tuple(
        msgspec.structs.replace(
            _input(value, sizes), sha256=values.get(value.name, ""), least=int(value.name in divisors)
        )
        for value in graph.inputs
    )
    whole = sum(math.prod(each.shape) for each in found)
    if whole > MAX_NUMBERS:
        raise LevelfieldError(f"The inputs of one call of {name} have {whole} numbers, more than can be given.")
    return OwnFile(
        model=_model_name(content, given),
        file=name,
        sha256=content.sha256,
        size_bytes=content.size_bytes,
        inputs=found,
        outputs=tuple(value.name for value in graph.outputs),
        precision=operators.precision(graph),
        opset=graph.opset,
        dimensions=dict(given),
        beside=content.beside,
    )


def shapes(model: OwnFile, batch: int) -> dict[str, tuple[int, ...]]:
    """Return the whole shape of every input of one call."""
    return {
        each.name: (*each.shape[: each.axis], *((batch,) if each.batched else ()), *each.shape[each.axis :])
        for each in model.inputs
    }


def needs_sizes(graph: Graph, sides: Mapping[str, tuple[int, ...]]) -> bool:
    """Return whether inputs of these shapes must, or should, be written into a file."""
    declared = [
        (side.size, size) for one in graph.inputs for side, size in zip(one.shape or (), sides[one.name], strict=True)
    ]
    known = all(has in (None, size) for has, size in declared)
    conditional = any(node.operator == "If" for node in graph.nodes)
    return not known or (not conditional and any(has is None for has, _ in declared))


def _model_name(content: Content, given: Mapping[str, int]) -> str:
    """`encoder-1a2b3c4d`, `encoder-1a2b3c4d+sequence=128`: the same name only for the same content and sizes."""
    stem = _UNKIND.sub("_", PurePosixPath(content.name).stem)[:STEM_CHARS] or "model"
    sizes = "".join(f"+{_UNKIND.sub('_', name)}={size}" for name, size in sorted(given.items()))
    if len(sizes) > STEM_CHARS:
        sizes = f"+{hashlib.sha256(sizes.encode()).hexdigest()[:DIGEST_CHARS]}"
    return f"{stem}-{content.identity[:DIGEST_CHARS]}{sizes}"


def refusals(name: str, graph: Graph) -> Iterator[LevelfieldError]:
    """Say why a file cannot be measured, whatever is given with it."""
    if not graph.inputs or not graph.outputs:
        what = "outputs" if graph.inputs else "inputs"
        yield LevelfieldError(f"{name} has no {what}: there is nothing to {'compare' if graph.inputs else 'give it'}.")
    for what, found in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        called = Counter(value.name for value in found)
        for twice in (each for each, count in called.items() if count > 1 or not each):
            yield LevelfieldError(
                f"{name} has two {what} called {twice}, which nothing tells apart."
                if twice
                else f"{name} has {what} without a name.",
                fix="Export it with names of their own.",
            )
    for value in graph.inputs:
        if value.dtype not in DTYPES:
            yield LevelfieldError(
                f"The input {value.name} of {name} takes {value.dtype}, of which there are no seeded values.",
                fix=f"Export it with an input of {', '.join(DTYPES[:3])}, an integer type or bool.",
            )
        elif value.shape is None:
            yield LevelfieldError(
                f"The file {name} does not say how many dimensions its input {value.name} has.",
                fix="Export it with the shapes of its inputs.",
            )
    for value in graph.outputs:
        if value.dtype not in DTYPES:
            yield LevelfieldError(
                f"The output {value.name} of {name} is {value.dtype}, which cannot be compared.",
                fix="Export it with tensors of numbers as outputs (for scikit-learn's models: zipmap=False).",
            )
    yield from operators.refusals(name, graph)


def resolve(name: str, graph: Graph, given: Mapping[str, int]) -> Sizes:
    """Say which sizes are known, what the batch is, and what must still be given.

    Raises LevelfieldError: a size was given for what has one, or what is computed from others.
    """
    places = tuple(
        Place(each, axis, side) for each in graph.inputs for axis, side in enumerate(each.shape or ()) if not side.size
    )
    known: dict[str, int] = {}
    for key, size in given.items():
        symbol = _symbol_of(name, key, places)
        if not 0 <= size <= MAX_SIZE:
            raise LevelfieldError(
                f"{key} cannot be {size} long.", fix=f"Give it a size from 0 to {MAX_SIZE}: --input {key}=128."
            )
        if known.setdefault(symbol, size) != size:
            raise LevelfieldError(
                f"{symbol} of {name} cannot be {known[symbol]} and {size} long: one name is one size in all inputs.",
                fix=f"Say it once: --input {symbol}={known[symbol]}.",
            )
    for place in places:
        if place.side.size == 0:
            known.setdefault(place.numbered, 0)
    batch = _batch(places, known)
    if len(batch) == 1 and not _can_batch(places, batch):
        known |= dict.fromkeys(batch, 1)  # it is counted in an input more than once: a call is one item
        batch = frozenset()
    missing = {
        symbol: place for place in places for symbol in place.symbols if symbol not in known and symbol not in batch
    }
    return Sizes(places, known, batch, missing)


def _symbol_of(name: str, key: str, places: tuple[Place, ...]) -> str:
    """Return the symbol that a user's `--input KEY=` is about."""
    place = next((each for each in places if key in {each.side.name, each.numbered}), None)
    if place is None and any(key in each.symbols for each in places):
        return key
    if place is None:
        there = dict.fromkeys(symbol for each in places for symbol in each.symbols if each.side.size is None)
        raise LevelfieldError(
            f"{name} has no dimension {key} without a size.", fix=f"There are: {', '.join(there) or 'all have one'}."
        )
    if not place.is_symbol:
        raise LevelfieldError(
            f"The size of {place.numbered} of {name} is {place.side.name}, which is computed.",
            fix="Give what it is computed from: " + " ".join(f"--input {each}=64" for each in place.symbols) + ".",
        )
    return place.symbols[0]


def _batch(places: tuple[Place, ...], known: Mapping[str, int]) -> frozenset[str]:
    """Return what the batch is called: whatever inputs begin with that has no size."""
    firsts = [each for each in places if each.axis == 0 and each.is_symbol and each.symbols[0] not in known]
    called = {each.side.name for each in firsts}
    if len(called) > 1:
        called = {each for each in called if _BATCH.search(each)}
    if len(called) != 1:
        return frozenset()
    return frozenset(each.symbols[0] for each in firsts if each.side.name in called)


def _can_batch(places: tuple[Place, ...], batch: frozenset[str]) -> bool:
    """Return whether every input has the batch in one dimension at the most, and nothing is computed from it."""
    (symbol,) = batch
    about = [each for each in places if symbol in each.symbols]
    return all(each.is_symbol for each in about) and len({each.input.name for each in about}) == len(about)


def missing(name: str, sizes: Sizes, given: Mapping[str, int]) -> LevelfieldError:
    """Ask for all sizes that are not known, in one command."""
    where: dict[str, dict[str, None]] = {symbol: {} for symbol in sizes.missing}
    for each in sizes.places:
        for symbol in where.keys() & {*each.symbols}:
            where[symbol][each.numbered] = None
    shown = [
        f"{symbol} ({', '.join(indices)})" if [*indices] != [symbol] else symbol for symbol, indices in where.items()
    ]
    several = len(shown) > 1
    return LevelfieldError(
        f"{name} does not say how long {'these dimensions of its inputs are' if several else 'this dimension is'}: "
        f"{', '.join(shown)}.",
        fix=f"Say it: {command(name, sizes, given)}",
    )


def command(name: str, sizes: Sizes, given: Mapping[str, int]) -> str:
    """Return a whole command that measures a file, with examples of the sizes that must be given."""
    asked = {
        symbol: _EXAMPLE_SIDE if place.axis > 1 and len(place.input.shape or ()) == _IMAGE_DIMENSIONS else _EXAMPLE
        for symbol, place in sizes.missing.items()
    }
    options = [word for key, size in {**given, **asked}.items() for word in ("--input", f"{key}={size}")]
    return shlex.join(["levelfield", "bench", "--model", name, *options])


def _input(value: Value, sizes: Sizes) -> OwnInput:
    found: list[int] = []
    batched, axis = False, 0
    for place in (Place(value, at, side) for at, side in enumerate(value.shape or ())):
        if place.side.size:
            found.append(place.side.size)
        elif sizes.batch & set(place.symbols):
            batched, axis = True, place.axis
        elif place.numbered in sizes.known:
            found.append(sizes.known[place.numbered])
        else:
            found.append(dimensions.size(place.side.name, sizes.known))
    return OwnInput(value.name, value.dtype, tuple(found), batched, axis=axis)
