"""Files for workers of an engine that does not see ours: volumes in place of folders of this machine.

An engine in a virtual machine, on another machine, in a snap or with user ids of its own does not see our files, or
lets no worker write them. They are then copied through its API: into a volume before a launch, out of it after an
export.
"""

import contextlib
import os
import secrets
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
from docker.errors import APIError, ImageNotFound
from docker.types import Mount

from levelfield.errors import LevelfieldError
from levelfield.images import loading
from levelfield.images.engine import USER_PROXIES
from levelfield.launchers.protocol import LaunchSpec
from levelfield.machine.engine import ENGINE_ERRORS
from levelfield.paths import cache_folder, remove_tree, temporary_folder

ARTIFACTS, CACHE, EXPORT = "/artifacts", "/cache", "/export"
_VOLUME = ".volume"
"""File in a cache folder that names the volume in its place; without it, the cache is empty."""
_PROBE = 'grep -qx "$1" /probe/nonce && cp /bin/true /probe/program && /probe/program && cp /probe/nonce /probe/answer'
_CHUNK_BYTES = 1 << 20
_ATTEMPTS, _PAUSE_S = 20, 0.1


def sees_our_files(client: docker.DockerClient, image: str, user: tuple[int, int], labels: dict[str, str]) -> bool:
    """Return whether a worker reads, writes and executes files of our cache folder: a container tries it."""
    nonce = secrets.token_hex(16)
    with temporary_folder("probe") as outer:
        folder = outer / "probe"
        folder.mkdir()
        (folder / "nonce").write_text(nonce + "\n")
        if os.getuid() == 0:
            os.chown(folder, *user)
        api = client.api
        try:
            container = api.create_container(
                image,
                [_PROBE, "sh", nonce],
                entrypoint=["/bin/sh", "-c"],
                user=f"{user[0]}:{user[1]}",
                labels={**labels, "levelfield.name": "probe of files"},
                network_disabled=True,
                host_config=api.create_host_config(
                    network_mode="none",
                    cap_drop=["ALL"],
                    security_opt=["no-new-privileges"],
                    read_only=True,
                    # Unlike `binds`, it makes no folder where there is none.
                    mounts=[Mount("/probe", str(folder), type="bind")],
                ),
                use_config_proxy=USER_PROXIES,
            )["Id"]
        except ImageNotFound:
            raise
        except APIError:
            return False
        try:
            api.start(container)
            api.wait(container)
        except APIError:
            return False
        finally:
            api.remove_container(container, force=True)
        answer = folder / "answer"
        return answer.is_file() and answer.read_text().strip() == nonce


class Volumes:
    """The volumes of one supervisor: one for all workers that read the same, each cache folder and each export."""

    def __init__(self, client: docker.DockerClient, labels: dict[str, str], user: tuple[int, int]) -> None:
        self._client = client
        self._labels = labels
        self._user = user
        self._artifacts: dict[tuple[str, ...], str] = {}
        self._copied: dict[str, set[str]] = {}
        self._caches: dict[Path, str] = {}
        self._made: set[str] = set()

    def mounts(self, spec: LaunchSpec) -> list[Mount]:
        """Return what a worker's folders are mounted from, made and filled."""
        found = [Mount(ARTIFACTS, self._copy_in(spec), type="volume", read_only=True)] if spec.reads else []
        if spec.cache is not None:
            found.append(Mount(CACHE, self._cache(spec.cache, spec.image.tag), type="volume"))
        if spec.export is not None:
            found.append(Mount(EXPORT, self._writable(EXPORT, spec.image.tag), type="volume"))
        return found

    def _cache(self, folder: Path, image: str) -> str:
        marker = folder / _VOLUME
        if not marker.is_file() or folder not in self._caches:
            self._remove(self._caches.pop(folder, ""))
            self._caches[folder] = self._writable(CACHE, image)
            remove_tree(folder)  # a worker of another engine may have left a link in it
            folder.mkdir(exist_ok=True)
            with marker.open("x") as file:
                file.write(self._caches[folder])
        return self._caches[folder]

    def _create(self) -> str:
        name = f"levelfield-{secrets.token_hex(8)}"
        self._client.api.create_volume(name, labels=self._labels)
        self._made.add(name)
        return name

    def _writable(self, place: str, image: str) -> str:
        """Return a new volume that workers may write to."""
        name, entry = self._create(), tarfile.TarInfo(place.strip("/"))
        entry.type, entry.mode, (entry.uid, entry.gid) = tarfile.DIRTYPE, 0o755, self._user
        with self._holding(image, name, place) as container:
            self._client.api.put_archive(container, "/", entry.tobuf(tarfile.GNU_FORMAT) + loading.END)
        return name

    def _copy_in(self, spec: LaunchSpec) -> str:
        """Return a volume with what a worker reads; files that it has already do not change."""
        if spec.reads not in self._artifacts:
            self._artifacts[spec.reads] = self._create()
        volume = self._artifacts[spec.reads]
        read = [spec.artifacts / each for each in spec.reads]
        paths = (path for each in read for path in (each, *each.rglob("*")) if path.is_file())
        copied = self._copied.setdefault(volume, set())
        if new := sorted({str(path.relative_to(spec.artifacts)) for path in paths} - copied):
            with self._holding(spec.image.tag, volume, ARTIFACTS) as container:
                self._client.api.put_archive(
                    container, ARTIFACTS, loading.files_archive((name, spec.artifacts / name) for name in new)
                )
            copied.update(new)
        return volume

    def copy_out(self, spec: LaunchSpec, mounts: list[Mount]) -> None:
        """Copy what an exporter wrote to the folder of its launch: plain files, and nothing else."""
        if spec.export is None:
            return
        volume = next(each["Source"] for each in mounts if each["Target"] == EXPORT)
        with (
            self._holding(spec.image.tag, volume, EXPORT) as container,
            tempfile.TemporaryFile(dir=cache_folder("downloads")) as spool,
        ):
            chunks, _ = self._client.api.get_archive(container, f"{EXPORT}/.", chunk_size=_CHUNK_BYTES)
            for chunk in chunks:
                if spool.tell() + len(chunk) > spec.disk_bytes:
                    raise LevelfieldError(
                        f"{spec.name} wrote more than {spec.disk_bytes / 2**30:.1f} GiB.", fix="Nothing of it was used."
                    )
                spool.write(chunk)
            spool.seek(0)
            with tarfile.open(fileobj=spool, mode="r:") as tar:
                for entry in tar:
                    name = entry.name.removeprefix("./")
                    content = tar.extractfile(entry) if entry.isreg() else None
                    if content is not None and Path(name).name == name:
                        with (spec.export / name).open("wb") as file:
                            shutil.copyfileobj(content, file)
        self._remove(volume)

    @contextlib.contextmanager
    def _holding(self, image: str, volume: str, place: str) -> Iterator[str]:
        """Yield a container that never runs, through which the engine copies files into a volume and out of it."""
        api = self._client.api
        container = api.create_container(
            image,
            labels={**self._labels, "levelfield.name": "copying of files"},
            network_disabled=True,
            host_config=api.create_host_config(network_mode="none", mounts=[Mount(place, volume, type="volume")]),
            use_config_proxy=USER_PROXIES,
        )["Id"]
        try:
            yield container
        finally:
            api.remove_container(container, force=True)

    def _remove(self, name: str) -> None:
        for _ in range(_ATTEMPTS if name else 0):
            try:
                self._client.api.remove_volume(name, force=True)
            except APIError:  # the container of a worker that has ended is still there for a moment
                time.sleep(_PAUSE_S)
            except ENGINE_ERRORS:
                return
            else:
                self._made.discard(name)
                return

    def close(self) -> None:
        """Remove all volumes; one that a worker still uses is left to a later run (`DockerLauncher.sweep`)."""
        for folder in self._caches:
            (folder / _VOLUME).unlink(missing_ok=True)  # it may be kept, and what it stood for is gone
        for name in list(self._made):
            self._remove(name)
