"""What a container registry answers through the engine, as sentences for people."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from docker.errors import DockerException

from levelfield.errors import LevelfieldError

_NOT_LET_IN = re.compile(r"unauthorized|authenticat|no basic auth|denied|forbidden|insufficient_scope", re.IGNORECASE)
_NO_TLS = re.compile(r"HTTP response to HTTPS|x509|certificate|tls:", re.IGNORECASE)
_UNKNOWN = re.compile(r"manifest unknown|manifest for .* not found|name unknown|NAME_UNKNOWN|MANIFEST_UNKNOWN")


def check(event: dict[str, Any], registry: str) -> None:
    """Raise a LevelfieldError where the engine reports that the registry refused something."""
    if event.get("error"):
        raise refused(registry, str(event["error"]))


@contextlib.contextmanager
def asking(registry: str) -> Iterator[None]:
    """Turn errors of the engine into sentences on the registry.

    Raises LevelfieldError: in place of an error of the engine.
    """
    try:
        yield
    except DockerException as error:
        raise refused(registry, str(getattr(error, "explanation", None) or error)) from error


def refused(registry: str, reason: str) -> LevelfieldError:
    """Return the error for a registry that cannot be used."""
    said = " ".join(reason.split())[:300].rstrip(".")
    host = registry.partition("/")[0]
    if _UNKNOWN.search(said):
        return LevelfieldError(
            f"The registry has no {registry}: {said}.",
            fix="Ask the publisher of the file to push the image again, or build it here.",
        )
    if _NOT_LET_IN.search(said):
        return LevelfieldError(
            f"The registry {registry} does not let the container engine in: {said}.",
            fix=f"Run `docker login {host}` as somebody who may use it, and repeat the command.",
        )
    if _NO_TLS.search(said):
        return LevelfieldError(
            f"The container engine does not trust the registry {registry}: {said}.",
            fix="Give the registry a certificate that the engine knows, or name it as insecure in the engine's own "
            "settings (Docker: daemon.json, podman: registries.conf).",
        )
    return LevelfieldError(
        f"The registry {registry} cannot be used: {said}.",
        fix="Check the address, and that the machine of the container engine reaches it.",
    )
