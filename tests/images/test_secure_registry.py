"""A registry with TLS and a login: the container engine checks the certificate and sends the password."""

import base64
import ipaddress
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.commands import one_clear_sentence, run
from tests.registries import PASSWORD, USER, Registry

CERTIFICATES = Path("/etc/docker/certs.d")


@pytest.fixture
def registry(client: docker.DockerClient) -> Iterator[Registry]:
    (bridge, *_) = client.networks.get("bridge").attrs["IPAM"]["Config"]
    here = next(ipaddress.ip_network(bridge["Subnet"]).hosts())  # the bridge's own, this machine's
    one = Registry(passwords=True, secure=str(here))
    yield one
    one.close()


@pytest.fixture
def trusted(registry: Registry) -> Iterator[Path]:
    """The folder in which the engine finds the registry's certificate."""
    folder = CERTIFICATES / registry.address
    try:
        folder.mkdir(parents=True)
    except PermissionError:
        pytest.skip("Only root may give Docker a certificate.")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.docker
@pytest.mark.extended
def test_a_registry_with_tls_and_a_login(
    registry: Registry, trusted: Path, canary: Any, client: docker.DockerClient, tmp_path: Path
) -> None:
    address = f"{registry.address}/levelfield"
    unknown = run("images", "push", address, "canary", folder=tmp_path)
    one_clear_sentence(unknown, "does not trust the registry", "certificate that the engine knows")
    shutil.copy(registry.certificate, trusted / "ca.crt")
    one_clear_sentence(run("images", "push", address, "canary", folder=tmp_path), f"docker login {registry.address}")
    secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.address: {"auth": secret}}}))
    logged_in = {"DOCKER_CONFIG": str(tmp_path)}
    pushed = run("images", "push", address, "canary", folder=tmp_path, environment=logged_in)
    assert pushed.code == 0, pushed.err
    one = json.loads((tmp_path / "images.json").read_text())["images"][0]
    client.images.get(canary.tag)
    taken = run("images", "build", "canary", "--from", "images.json", folder=tmp_path, environment=logged_in)
    assert taken.code == 0, taken.err
    pulled = client.images.pull(one["reference"], auth_config={"username": USER, "password": PASSWORD})
    assert pulled.id == client.images.get(canary.tag).id
    client.images.remove(one["reference"])
