"""Changing a file as an attacker, or a bad disk, would: bytes anywhere, and values where JSON has them. Seeded."""

import copy
import random
import re
from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = Any

TEXTS = (
    "", "\x00", "\x00\x00 9.2", "\x1b]0;x\x07", "\u202e", "../../etc/passwd", "a" * 5_000, "@octocat", "[x](//y)",
    "<script>x</script>", "{{7*7}}", "1e999", "9" * 400, "nan", "-0", "2026-11-21T10:15:00+99:99", "\n\n# x",
    "0001-01-01T00:00:00Z", "\ud7ff\ufffe", "steal took 9.2% of the time; swap 1e308", "torch#0", "onnxruntime@../x",
    "a/b/c/d", "|", "`",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 7, 64, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, -(2**63), 10**30, 0.0, -0.0, 5e-324, 1e-320, 1e-300,
    1e-9, 0.5, 1.0 - 2**-53, 1e15, 1e300, 1e308, 1.7976931348623157e308, -1e308,
)  # fmt: skip
WRITTEN = (
    b"1e999", b"-1e999", b"NaN", b"Infinity", b"9" * 400, b"0.1e-400", b"[" * 3_000 + b"]" * 3_000,
    b'{"a":' * 900 + b"{}" + b"}" * 900, b'"\\ud800"', b"[]", b"null", b'"x"', b"-1",
)  # fmt: skip
"""What no encoder writes for these types."""
OTHERS: tuple[Json, ...] = (None, True, False, [], {}, [[]], [{}], {"type": "absent", "reason": "\x00"})


def mutated(rng: random.Random, content: bytes) -> bytes:
    """Return content with one to six changes: three times in four of JSON's values, where it is JSON."""
    if (kind := rng.random()) < 0.1:
        return of_text(rng, content)
    if kind < 0.75:
        try:
            document = msgspec.json.decode(content)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return of_bytes(rng, content)
        return msgspec.json.encode(of_values(rng, document))
    return of_bytes(rng, content)


def of_bytes(rng: random.Random, content: bytes) -> bytes:
    """Replace, remove, insert or repeat stretches of bytes, or cut the end off."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(changed))
        length = min(rng.choice((0, 1, 1, 2, 8, 40, 400)), len(changed) - start)
        match rng.randrange(4):
            case 0:
                changed[start : start + length] = rng.randbytes(rng.choice((0, 1, 2, 8)))
            case 1:
                changed[start:start] = changed[start : start + length] * rng.choice((1, 2, 20))
            case 2:
                del changed[start if rng.random() < 0.1 else max(len(changed) - length, 0) :]
            case _ if changed:
                changed[min(start, len(changed) - 1)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def of_text(rng: random.Random, content: bytes) -> bytes:
    """Give JSON a key twice, or one that nobody knows, with what no encoder writes as its value."""
    keys = list(re.finditer(rb'"\w+":', content))
    if not keys:
        return of_bytes(rng, content)
    found = rng.choice(keys)
    key, value = found[0], rng.choice(WRITTEN)
    again = rng.choice((key + value + b"," + key, key + value + b',"unknown":', b'"unknown":' + value + b"," + key))
    return content[: found.start()] + again + content[found.end() :]


def of_values(rng: random.Random, document: Json) -> Json:
    """Change values of a document, in place; many of one name at once in a fifth of cases."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        places = list(_paths(document))
        if not places:
            return _hostile(rng, document)
        holder, key = rng.choice(places)
        if isinstance(key, str) and rng.random() < 0.2:
            value = copy.deepcopy(_hostile(rng, holder[key]))
            for other, name in places:
                if name == key:
                    other[name] = copy.deepcopy(value)  # never the thing itself: it may hold one of these places
            continue
        match rng.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[key]))
            case 1:
                holder[rng.choice(TEXTS)] = copy.deepcopy(holder[key])
            case 2:
                holder[key] = _copy_of(*rng.choice(places))
            case _:
                holder[key] = _hostile(rng, holder[key])
    return document


def _copy_of(holder: Json, key: Json) -> Json:
    """Return a copy of what stands at a place, or None where a change took it away."""
    there = key in holder if isinstance(holder, dict) else key < len(holder)
    return copy.deepcopy(holder[key]) if there else None


def _hostile(rng: random.Random, value: Json) -> Json:
    """Return a value that is mostly of the same kind, so that the schema lets it in."""
    kind = rng.random()
    if kind < 0.1:
        return copy.deepcopy(rng.choice((*OTHERS, rng.choice(TEXTS), rng.choice(NUMBERS))))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        if kind < 0.4:
            factor = rng.choice((2, 0.5, 1000, -1, 0.999))
            return int(value * factor) if isinstance(value, int) else value * factor
        whole = [each for each in NUMBERS if isinstance(each, int)]
        return rng.choice(whole if isinstance(value, int) else NUMBERS)
    if isinstance(value, str):
        return rng.choice((value + rng.choice(TEXTS), rng.choice(TEXTS), value[: len(value) // 2]))
    if isinstance(value, list):
        return rng.choice((value * 2, value[:1], value[::-1], [], value[1:]))
    return rng.choice((value, {}, None))


def _paths(document: Json) -> list[tuple[Json, Json]]:
    found: list[tuple[Json, Json]] = []
    stack = [document]
    while stack:
        held = stack.pop()
        entries = (
            list(held.items()) if isinstance(held, dict) else list(enumerate(held)) if isinstance(held, list) else []
        )
        found += ((held, key) for key, _ in entries)
        stack += (value for _, value in entries if isinstance(value, dict | list))
    return found
