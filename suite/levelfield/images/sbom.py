"""An image's bill of materials in CycloneDX: the same lock and base give the same bytes.

References
----------
CycloneDX 1.6 (ECMA-424), https://cyclonedx.org/specification/overview/
Package URLs, https://github.com/package-url/purl-spec (types `pypi` and `deb`).

And which distributions may not be passed on at will, by a list of names: not every wheel says its licence in a way
that a program can read.

References
----------
NVIDIA CUDA Toolkit EULA, section 1.1, https://docs.nvidia.com/cuda/eula/
NVIDIA TensorRT SLA, https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/sla.html
Intel oneMKL licence FAQ, https://www.intel.com/content/www/us/en/developer/articles/license/onemkl-license-faq.html
"""

import datetime as dt
import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping

import msgspec
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from levelfield.errors import LevelfieldError
from levelfield.images import base, catalogue, debian
from levelfield.images.layer import EPOCH
from levelfield.record.bases import BaseLock, Package
from levelfield.record.schema import Image

FOLDER = "sbom"
SUFFIX = ".cdx.json"
PROPERTY = "levelfield:"
"""Prefix of the names of our own properties."""
_MADE = dt.datetime.fromtimestamp(EPOCH, dt.UTC)
_UNSAFE = re.compile(r"[^A-Za-z0-9@._+-]")


def file_name(image: str, variant: str, launcher: str = "") -> str:
    """Return the name of an image's bill: `torch-cpu.cdx.json`. It never leads out of its folder.

    `image`, `variant`: name and variant as in the record. They are not trusted: characters unfit for a file name are
    replaced.
    """
    stem = f"{image}-{variant}{f'+{launcher}' if launcher else ''}"
    return f"{_UNSAFE.sub('_', stem).lstrip('.-') or '_'}{SUFFIX}"


def of_record(image: Image, bases: Mapping[str, BaseLock] = {}) -> bytes:
    """Return the bill of an image that a run used, whose record says what bases were made of.

    Raises LevelfieldError: its lock or its base is not the one that this checkout holds, or it ran from no lock.
    """
    if image.unlocked or not image.lock_sha256:
        raise LevelfieldError(f"{image.name} did not run from a lock, so that nobody can say what was in it.")
    variant, version = catalogue.split_stem(image.variant)
    lock = catalogue.lock(image.name, variant, version)
    if lock.sha256 != image.lock_sha256:
        raise _another(f"lock of {image.name} {image.variant}")
    packages: tuple[Package, ...] = ()
    kind, _, rest = image.base.partition(" ")
    name, _, identity = rest.partition(" ")
    if kind == "debian":
        made_of = bases.get(image.base) or debian.lock_of(name)
        if base.identity_of(made_of, name) != identity:
            raise _another(f"base {name}")
        packages = made_of.packages_of(name)
    return make(
        lock,
        packages,
        plugins=image.plugins,
        base_label=image.base,
        recipe_sha256=image.recipe_sha256,
        python=image.python,
    )


def _another(what: str) -> LevelfieldError:
    return LevelfieldError(
        f"The {what} is not the one that the run used.",
        fix="Check out the state of the repository that the run was made with.",
    )


def make(
    lock: catalogue.Lock,
    packages: Iterable[Package] = (),
    *,
    plugins: Mapping[str, str] = {},
    base_label: str = "",
    recipe_sha256: str = "",
    python: str = "",
) -> bytes:
    """Return a bill of materials.

    `base_label`: which base, and its digest; empty: a virtual environment. `recipe_sha256`, `python`: further facts on
    how the image was made; empty: not known.
    """
    packages = tuple(packages)
    stem = catalogue.stem(lock.variant, lock.version)
    facts = {
        "lock_sha256": lock.sha256,
        "base": base_label,
        "recipe_sha256": recipe_sha256,
        "python": python if not base_label else "",
    }
    root = Component(
        name=f"levelfield/{lock.image}",
        version=stem,
        type=ComponentType.CONTAINER if base_label else ComponentType.PLATFORM,
        bom_ref=f"levelfield/{lock.image}:{stem}",
        properties=[Property(name=PROPERTY + name, value=value) for name, value in facts.items() if value],
    )
    parts = [_component(pin, PackageURL(type="pypi", name=pin.name, version=pin.version)) for pin in lock.pins]
    parts += [_package(package) for package in packages]
    parts += [_plugin(name, version) for name, version in sorted(plugins.items())]
    named = "\n".join([root.name, stem, *facts.values(), *(str(part.bom_ref.value) for part in parts)])
    bill = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(named.encode()).hexdigest()),
        metadata=BomMetaData(component=root, timestamp=_MADE),
        components=parts,
    )
    bill.register_dependency(root, parts)
    plain = msgspec.json.decode(JsonV1Dot6(bill).output_as_string())
    return msgspec.json.format(msgspec.json.encode(plain, order="deterministic"), indent=2) + b"\n"


def _plugin(name: str, version: str) -> Component:
    address = PackageURL(type="pypi", name=name, version=version)
    return Component(name=name, version=version, type=ComponentType.LIBRARY, purl=address, bom_ref=address.to_string())


def _package(package: Package) -> Component:
    qualifiers = {"arch": str(package.architecture)}
    return _component(package, PackageURL("deb", "debian", package.name, package.version, qualifiers))


def _component(file: catalogue.Pin | Package, address: PackageURL) -> Component:
    return Component(
        name=file.name,
        version=file.version,
        type=ComponentType.LIBRARY,
        purl=address,
        bom_ref=address.to_string(),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=file.sha256)],
        properties=[Property(name=f"{PROPERTY}file", value=file.file)],
    )


# ---- reading bills from elsewhere ------------------------------------------------------------------------------------


class _Property(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    name: str
    value: str = ""


class _Component(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    name: str
    version: str = ""
    purl: str = ""
    properties: tuple[_Property, ...] = ()


class _MetaData(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    component: _Component


class _Bill(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    metadata: _MetaData
    components: tuple[_Component, ...] = ()


def contradictions(content: bytes, image: Image) -> tuple[str, ...]:
    """Return where a bill contradicts the record of the run.

    `image`: the same image in the record. What the record does not know (an empty value) contradicts nothing. Returns a
    few words each; empty where they agree.
    """
    try:
        bill = msgspec.json.decode(content, type=_Bill)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ("it is no bill of materials",)
    stated = {each.name: each.value for each in bill.metadata.component.properties}
    found = [
        f"{name} is {stated.get(PROPERTY + name)!r} there and {value!r} in the record"
        for name, value in (("lock_sha256", image.lock_sha256), ("base", image.base))
        if value and stated.get(PROPERTY + name) != value
    ]
    listed = {each.name: each.version for each in bill.components if each.purl.startswith("pkg:pypi/")}
    recorded = image.distributions
    found += [
        f"{name} is {listed.get(name, 'not there')} there and {recorded.get(name, 'not there')} in the record"
        for name in sorted(listed.keys() | recorded.keys())
        if recorded and listed.get(name) != recorded.get(name)
    ]
    return tuple(found)


_RESTRICTED = re.compile(
    r"nvidia-(?!ml-py$).+"  # libraries of CUDA, cuDNN, NVSHMEM, cuSPARSELt; the bindings of NVML are under BSD
    r"|cuda-bindings"  # 12 is under NVIDIA's own licence, later ones under Apache
    r"|tensorrt.*|.+-tensorrt(-.+)?"
    r"|mkl(-.+)?|intel-openmp"
)


def restricted(distributions: Iterable[str]) -> tuple[str, ...]:
    """Return those distributions whose licence restricts who may pass them on."""
    return tuple(sorted(name for name in distributions if _RESTRICTED.fullmatch(name)))
