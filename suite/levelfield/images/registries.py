"""Where wheels come from: the user's own pip settings, and the public indexes that `images/indexes.toml` names."""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images.catalogue import current_architecture
from levelfield.paths import images_root
from levelfield.untrusted import convert

GLIBC_MINOR = 36
"""Of glibc 2.36 in Debian bookworm, the oldest release of the bases."""

WITHOUT = "What to do where it does not answer: docs/versions.md, PyTorch."
"""Of the indexes of `indexes.toml`, for the end of a fix."""

_PUBLIC = "https://pypi.org/simple"
"""The index that pip and uv ask where none is configured."""


class Settings(msgspec.Struct, frozen=True):
    """The user's settings of pip, as uv names them. They may hold passwords: used at once, never stored or shown."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    environment: dict[str, str] = {}


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A public index that serves a few projects the default index does not have."""

    name: str
    url: str
    serves: tuple[str, ...]
    variants: tuple[str, ...]


def indexes(variant: str) -> tuple[Index, ...]:
    """Return the public indexes to ask, after the user's own, for a variant."""
    content = (images_root() / "indexes.toml").read_text(encoding="utf-8")
    found = convert(tomllib.loads(content)["index"], tuple[Index, ...])
    return tuple(index for index in found if variant in index.variants)


def pip_command() -> list[str]:
    """Return the command that runs pip.

    Raises LevelfieldError: there is no pip.
    """
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    program = shutil.which("pip3") or shutil.which("pip")
    if program is None:
        raise LevelfieldError(
            "Wheels are fetched with pip, and there is none here.",
            fix=f"Install it: {sys.executable} -m ensurepip --upgrade",
        )
    return [program]


def uv_command() -> list[str]:
    """Return the command that runs uv, which comes as a dependency."""
    from uv import find_uv_bin

    return [find_uv_bin()]


class Places(msgspec.Struct, frozen=True):
    """Where a user says wheels are, beside what pip's configuration names."""

    indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    """Folders of wheels, or pages that link to some."""

    @property
    def pip_arguments(self) -> list[str]:
        found = [argument for url in self.indexes for argument in ("--extra-index-url", url)]
        return found + [argument for place in self.find_links for argument in ("--find-links", place)]


NOWHERE_ELSE = Places()


def settings(places: Places = NOWHERE_ELSE) -> Settings:
    """Read the user's pip settings: index, extra indexes, local wheels, proxy, certificates.

    uv does not read pip's configuration; what pip can reach, uv must reach too.
    """
    result = subprocess.run([*pip_command(), "config", "list"], capture_output=True, text=True, check=False)
    if result.returncode:
        said = without_addresses(result.stderr.strip()).splitlines() or ["it said nothing"]
        raise LevelfieldError(f"pip cannot read its own configuration: {said[-1]}", fix="See `pip config debug`.")
    found = _parse(result.stdout)
    return msgspec.structs.replace(
        found,
        extra_index_urls=(*found.extra_index_urls, *places.indexes),
        find_links=(*found.find_links, *places.find_links),
    )


def _parse(listing: str) -> Settings:
    values: dict[str, str] = {}
    # Later wins, as in pip: the environment over the command's own section over the global one.
    for section in ("global", "download", ":env:"):
        for line in listing.splitlines():
            key, _, quoted = line.partition("=")
            if key.startswith(section + "."):
                values[key.removeprefix(section + ".")] = str(ast.literal_eval(quoted))
    environment = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1"}
    if "cert" in values:
        environment["SSL_CERT_FILE"] = values["cert"]
    if "proxy" in values:
        environment |= {"HTTPS_PROXY": values["proxy"], "HTTP_PROXY": values["proxy"]}
    if "trusted-host" in values:
        environment["UV_INSECURE_HOST"] = values["trusted-host"]
    return Settings(
        index_url=values.get("index-url"),
        extra_index_urls=tuple(values.get("extra-index-url", "").split()),
        find_links=tuple(values.get("find-links", "").split()),
        environment=environment,
    )


def uv_arguments(found: Settings, *, only_default: bool = False) -> list[str]:
    """Return the settings as arguments of uv."""
    arguments = ["--default-index", found.index_url] if found.index_url else []
    if only_default:
        return arguments
    # pip takes the files of a release from all indexes, uv from the first that has the release, and asks the default
    # index last: named first, a mirror that holds the wheels of one Python does not hide those of another.
    first = (found.index_url or _PUBLIC,) if found.extra_index_urls else ()
    for url in (*first, *found.extra_index_urls):
        arguments += ["--index", url]
    for location in found.find_links:
        arguments += ["--find-links", location]
    return [*arguments, "--index-strategy", "unsafe-best-match"]


def wheel_platform_arguments(python: str) -> list[str]:
    """Return pip's arguments for wheels that run in the images, whatever Python and machine run this tool."""
    version = "".join(python.split("."))
    # pip wants every older tag by name.
    architecture = current_architecture()
    tags = [*(f"manylinux_2_{minor}" for minor in range(GLIBC_MINOR, 4, -1)), *architecture.old_tags, "linux"]
    arguments = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", python]
    arguments += ["--abi", f"cp{version}", "--abi", "abi3", "--abi", "none"]
    for tag in tags:
        arguments += ["--platform", f"{tag}_{architecture.name}"]
    return arguments


def without_addresses(text: str) -> str:
    """Return a message of pip or uv without the addresses in it, which may hold passwords."""
    return re.sub(r"[a-z+]+://\S+", "(an index)", text)
