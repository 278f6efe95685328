"""Projections of outputs inside a page: each once, and put back beside every launch with the same output.

Every launch of an arm computes the same answer, and the record keeps 64 numbers of it each time. Their digits hardly
compress, so that repeating them took half of the record inside a page.
"""

from collections.abc import Callable, Iterable

import msgspec

from levelfield.record.schema import Block, Parity


def once(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Leave out the projections that an earlier launch with the same output has."""
    first: dict[str, tuple[float, ...]] = {}

    def kept(parity: Parity) -> tuple[float, ...]:
        if parity.output_sha256 not in first:
            first[parity.output_sha256] = parity.projection
            return parity.projection
        return () if parity.projection == first[parity.output_sha256] else parity.projection

    return _with_projections(blocks, kept)


def everywhere(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Put the projections back that `once` left out."""
    first: dict[str, tuple[float, ...]] = {}

    def full(parity: Parity) -> tuple[float, ...]:
        known = first.setdefault(parity.output_sha256, parity.projection)
        return parity.projection or known

    return _with_projections(blocks, full)


def _with_projections(blocks: Iterable[Block], chosen: Callable[[Parity], tuple[float, ...]]) -> tuple[Block, ...]:
    """Return blocks whose launches have the projections that are chosen, from the first launch to the last."""
    return tuple(
        msgspec.structs.replace(
            block,
            generations=tuple(
                msgspec.structs.replace(
                    generation,
                    launches=tuple(
                        launch
                        if launch.parity is None
                        else msgspec.structs.replace(
                            launch, parity=msgspec.structs.replace(launch.parity, projection=chosen(launch.parity))
                        )
                        for launch in generation.launches
                    ),
                )
                for generation in block.generations
            ),
        )
        for block in blocks
    )
