"""An image as one archive that `docker load` and podman take, for machines without registries; and its bill.

Layers and configuration are ours and hold no times: two builds of the same image give the same archive, byte for byte.
"""

from collections.abc import Mapping
from pathlib import Path

from levelfield.errors import LevelfieldError
from levelfield.images import engine, loading, sbom
from levelfield.images.wheels import Progress, silent
from levelfield.paths import disk_space, temporary_folder
from levelfield.record.bases import BaseLock
from levelfield.record.schema import Image


def export_image(
    image: Image, folder: Path, bases: Mapping[str, BaseLock] = {}, *, progress: Progress = silent
) -> Path:
    """Write an image and its bill of materials into a folder.

    Raises LevelfieldError: the folder cannot be written, the disk is full, or the engine gives something else than the
    image.
    """
    stem = f"levelfield-{image.name}-{image.variant}"
    target = folder / f"{stem}.tar"
    progress(f"writing {target.name}")
    partial = folder / f".{target.name}.partial"
    try:
        with disk_space():
            folder.mkdir(parents=True, exist_ok=True)
            with (
                engine.connect() as client,
                temporary_folder("saving") as temporary,
                partial.open("wb") as stream,
            ):
                saved, layers = loading.saved(client, image.tag, temporary)
                stream.writelines(loading.archive([saved], layers))
            partial.replace(target)
            (folder / f"{stem}{sbom.SUFFIX}").write_bytes(sbom.of_record(image, bases))
    except OSError as error:
        raise LevelfieldError(
            f"The image cannot be written to {folder}: {error.strerror or error}.", fix="Choose another folder."
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return target
