"""The Debian packages that the base of a report was made of, read back from a bill of materials beside it."""

import re
from typing import Annotated

import msgspec

from suite.errors import LevelfieldError
from suite.images import base, sbom
from suite.images.debian import BASES, BaseLock, Package
from suite.record.schema import Image

_MAX_PACKAGES = 2000
_MAX_BYTES = 1 << 30
"""Of a package, packed or unpacked."""
_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9+.-]{0,100}$")]
_Version = Annotated[str, msgspec.Meta(pattern=r"^[0-9][A-Za-z0-9.+:~-]{0,100}$")]
_PLACE = re.compile(
    r"(debian|debian-security)/(pool/(?:[A-Za-z0-9][A-Za-z0-9.+:~_%-]{0,120}/){1,6}[\w.+:~%-]{1,250}\.deb)"
)
_PURL = re.compile(r"pkg:deb/debian/.*\?arch=(amd64|arm64|all)")


class _Named(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Hash(msgspec.Struct, frozen=True):
    alg: str
    content: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40,128}$")]


class _Component(msgspec.Struct, frozen=True):
    name: str
    version: str = ""
    purl: str = ""
    hashes: tuple[_Hash, ...] = ()
    properties: tuple[_Named, ...] = ()

    def facts(self) -> dict[str, str]:
        return {each.name.removeprefix(sbom.PROPERTY): each.value for each in self.properties}


class _MetaData(msgspec.Struct, frozen=True):
    component: _Component


class _Bill(msgspec.Struct, frozen=True):
    metadata: _MetaData
    components: tuple[_Component, ...] = ()


class _Checked(msgspec.Struct, frozen=True):
    """What must hold of a package before its file is named after it."""

    name: _Name
    version: _Version


def read(content: bytes, image: Image) -> BaseLock:
    """Return the lock of the base that an image of a record stands on.

    Parameters
    ----------
    content
        The image's bill of materials; it may be damaged or forged.
    image
        The image in the record: what is returned is exactly what its base was made of.

    Raises
    ------
    LevelfieldError
        The image stands on no base made from Debian packages, or the bill does not name those of its base.
    """
    kind, _, rest = image.base.partition(" ")
    name, _, identity = rest.partition(" ")
    if kind != "debian" or name not in BASES:
        raise LevelfieldError(f"The image {image.name} stands on no base that is made from Debian packages.")
    try:
        lock = _lock(msgspec.json.decode(content, type=_Bill), name)
    except (msgspec.MsgspecError, ValueError, KeyError, RecursionError) as error:
        raise LevelfieldError(
            f"The bill of materials of {image.name} does not name the packages of its base: "
            f"{' '.join(str(error).split())[:200]}.",
            fix="Take the report's folder from whoever published it, with its sbom folder.",
        ) from error
    if base.describe(name, lock=lock).identity != identity:
        raise LevelfieldError(
            f"The packages that the bill of materials of {image.name} names do not make the base of the record.",
            fix="Check out the state of the repository that the run was made with.",
        )
    return lock


def _lock(bill: _Bill, name: str) -> BaseLock:
    facts = bill.metadata.component.facts()
    found = tuple(_package(each, name) for each in bill.components if each.purl.startswith("pkg:deb/"))
    if not 0 < len(found) <= _MAX_PACKAGES:
        raise ValueError(f"it names {len(found)}")
    return BaseLock(
        release=facts[sbom.RELEASE],
        architecture=facts[sbom.ARCHITECTURE],
        epoch=int(facts[sbom.EPOCH_S]),
        packages=tuple(sorted(found, key=lambda package: package.name)),
    )


def _package(part: _Component, base_name: str) -> Package:
    facts = part.facts()
    checked = msgspec.convert({"name": part.name, "version": part.version}, _Checked)
    place, purl = _PLACE.fullmatch(facts[sbom.PLACE]), _PURL.fullmatch(part.purl)
    sizes = int(facts[sbom.SIZE_BYTES]), int(facts[sbom.INSTALLED_BYTES])
    if place is None or purl is None or not all(0 <= size <= _MAX_BYTES for size in sizes):
        raise ValueError(f"{part.name} is no package of Debian")
    hashes = {each.alg: each.content for each in part.hashes}
    return Package(
        name=checked.name,
        version=checked.version,
        architecture=purl[1],
        sha256=hashes["SHA-256"],
        sha1=hashes["SHA-1"],
        size_bytes=sizes[0],
        installed_bytes=sizes[1],
        archive=place[1],
        path=place[2],
        bases=(base_name,),
    )
