"""What `compare` must say about two machines' drivers and CUDA: an upgrade that the images were not made for."""

from collections.abc import Iterable, Iterator, Sequence

from levelfield.compatibility import known_bad
from levelfield.compatibility.devices import Nvidia, from_facts
from levelfield.compatibility.gate import check
from levelfield.compatibility.table import Table
from levelfield.compatibility.versions import key
from levelfield.record import notices
from levelfield.record.schema import Fingerprint, Image, Warning_


def between(
    table: Table,
    old: Fingerprint,
    new: Fingerprint,
    *,
    old_images: Sequence[Image] = (),
    new_images: Sequence[Image] = (),
) -> tuple[Warning_, ...]:
    """Return what a reader of a comparison must know about driver and CUDA on the two sides; empty without a GPU."""
    before, after = from_facts(old.get("gpu", {})), from_facts(new.get("gpu", {}))
    found = (*_driver(before, after), *_images(table, before, old_images), *_images(table, after, new_images))
    return tuple({(one.code, one.about, one.message): one for one in found}.values())  # once, where both sides have it


def _driver(before: Nvidia, after: Nvidia) -> Iterator[Warning_]:
    if before.driver is None and after.driver is None:
        return
    if before.driver is None or after.driver is None:
        yield notices.driver_on_one_side(before.driver, after.driver)
    elif key(after.driver) < key(before.driver):
        yield notices.driver_older(before.driver, after.driver)


def _images(table: Table, nvidia: Nvidia, images: Iterable[Image]) -> Iterator[Warning_]:
    for image in images:
        release = known_bad.cuda_release(image.distributions)
        if release is None:
            continue
        found = check(table, release, nvidia)
        for text in (found.reason,) if not found.runs else found.warnings:
            yield notices.cuda_misfit(f"{image.name} {image.variant}", text, found.fix)
        versions = known_bad.libraries(image.distributions)
        for rule in known_bad.matching(table, versions, nvidia.gpus):
            yield notices.known_bad(f"{image.name} {image.variant}", known_bad.sentence(rule, versions), rule.remedy)
