"""The guest's file system: Debian with two released kernels, and Levelfield with what its locks name.

The files under `guest/` are copied over it.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import debian, registries
from levelfield.images.wheels import Progress
from levelfield.launchers.host import HostLauncher
from levelfield.launchers.needs import choose
from levelfield.paths import cache_folder, file_lock, images_root, package_root
from levelfield.plan import EXPORTER
from levelfield.prepare.artifacts import Artifacts
from studies.reboots import machine

OLD = ("linux-image-6.1.0-47-cloud-amd64", "6.1.170-3")
NEW = ("linux-image-6.1.0-50-cloud-amd64", "6.1.176-1")
"""Packages and versions of the two kernels: of two point releases of Debian 12, and both in its main archive."""
PACKAGES = ("systemd-sysv", "udev", "python3", "e2fsprogs", "initramfs-tools", "kmod", "libgomp1")
SIZE_BYTES = 2 << 30
MODEL = "mlp"
_OPTIONS = (
    "--variant=minbase",
    "--mode=root",
    "--format=directory",
    "--architectures=amd64",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
)
_MACHINE_ID = hashlib.sha256(b"levelfield trial of reboots").hexdigest()[:32]
_GUEST = Path(__file__).parent / "guest"
_EARLY = ("etc/initramfs-tools", "usr/share/initramfs-tools")
"""What must be there before a kernel is installed, which makes its initramfs."""
_MODULES = "usr/local/lib/python3.11/dist-packages"
_LOCKS = ("tool/runtime.lock", "onnxruntime/cpu.lock")
_CODE = "opt/levelfield"
"""Where this checkout is, laid out as here."""
_PATHS = f"/{_CODE}/suite\n/{_CODE}\n"
_SLOWED = "\nfrom studies.reboots import slowdown\n\nslowdown.apply(InferenceSession)\n"
"""Appended to the package `onnxruntime`."""


def release(kernel: tuple[str, str]) -> str:
    """Return what `uname -r` says under a kernel's package."""
    return kernel[0].removeprefix("linux-image-")


def make(image: Path, progress: Progress) -> Path:
    """Write the guest's disk.

    Debian and the wheels are made once for the same packages and locks, and kept in the cache; Levelfield's own code is
    put in anew.
    """
    _require()
    folder = cache_folder("machines")
    root = folder / _identity()
    with file_lock(folder / ".lock"):
        if not root.is_dir():
            with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as name:
                work = Path(name) / "root"
                progress("making a Debian system with two kernels")
                _debian(work)
                progress("installing what the locks of Levelfield and ONNX Runtime name")
                _install(work)
                work.rename(root)
        progress("installing Levelfield, and writing the file system")
        with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as name:
            work = Path(name) / "root"
            # Hard links: what is kept is not changed, since no file of it is written to below.
            _run(["cp", "--archive", "--link", str(root), str(work)], "The system could not be copied")
            _install_code(work)
            _export(work, progress)
            machine.make_disk(work, image, SIZE_BYTES)
    return root / "boot"


def _require() -> None:
    if os.geteuid():
        raise LevelfieldError("A machine's file system has files of several owners.", fix="Run this trial as root.")
    needed = (("qemu-system-x86_64", "qemu-system-x86"), ("mmdebstrap", "mmdebstrap"), ("chroot", "coreutils"))
    for program, package in needed:
        if shutil.which(program) is None:
            fix = f"Run `apt-get install {package}`; let PATH name /usr/sbin too."
            raise LevelfieldError(f"{program} is not found.", fix=fix)


def _identity() -> str:
    """Return a digest of everything that is kept."""
    files = [images_root() / lock for lock in _LOCKS]
    files += [path for folder in _EARLY for path in sorted((_GUEST / folder).rglob("*")) if path.is_file()]
    parts = [repr((OLD, NEW, PACKAGES, _OPTIONS, _SLOWED, _PATHS)).encode(), *(path.read_bytes() for path in files)]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:20]


def _debian(root: Path) -> None:
    mirrors = {archive: addresses[0] for archive, addresses in debian.mirrors().items()}
    suites = (
        (mirrors["debian"], debian.RELEASE),
        (mirrors["debian"], f"{debian.RELEASE}-updates"),
        (mirrors["debian-security"], f"{debian.RELEASE}-security"),
    )
    packages = [*PACKAGES, *(f"{name}={version}" for name, version in (OLD, NEW))]
    command = ["mmdebstrap", "--quiet", *_OPTIONS, f"--include={','.join(packages)}"]
    command += [f"--essential-hook=mkdir -p $1/{folder} && cp -r {_GUEST / folder}/. $1/{folder}" for folder in _EARLY]
    command += [debian.RELEASE, str(root), *(f"deb {address} {suite} main" for address, suite in suites)]
    _run(command, "The Debian system could not be made")
    shutil.rmtree(root / "etc/apt")  # where this machine's packages come from
    (root / "etc/machine-id").write_text(f"{_MACHINE_ID}\n", encoding="utf-8")


def _install(root: Path) -> None:
    found = registries.settings()
    modules = root / _MODULES
    command = [*registries.uv_command(), "pip", "install", "--quiet", "--target", str(modules), "--no-deps"]
    # A file that is appended to below must not be a link into uv's cache.
    command += ["--link-mode", "copy", "--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28"]
    command += ["--require-hashes", "--only-binary", ":all:", *registries.uv_arguments(found)]
    for lock in _LOCKS:
        command += ["--requirement", str(images_root() / lock)]
    _run(command, "The locked wheels could not be installed", found.environment)
    (modules / "levelfield.pth").write_text(_PATHS, encoding="utf-8")
    with (modules / "onnxruntime" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(_SLOWED)
    _chroot(root, "-m", "compileall", "-q", f"/{_MODULES}")


def _install_code(root: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "tests", "guest")
    for source, place in ((package_root(), "suite"), (images_root(), ""), (Path(__file__).parents[1], "")):
        shutil.copytree(source, root / _CODE / place / source.name, ignore=ignored)
    _chroot(root, "-m", "compileall", "-q", f"/{_CODE}")
    copy = [
        "cp",
        "--recursive",
        "--no-dereference",
        "--preserve=mode",
        "--remove-destination",
        f"{_GUEST}/.",
        str(root),
    ]
    _run(copy, "The guest's own files could not be copied")
    for folder in ("var/lib/levelfield", "etc/levelfield"):
        (root / folder).mkdir()


def _export(root: Path, progress: Progress) -> None:
    """Export the model here and put it where the guest looks for it: the guest has no framework to export with."""
    launcher, _ = choose(None, base="debian")
    exporter = launcher.prepare(EXPORTER, "cpu", None, progress)
    artifacts = Artifacts(progress=progress)
    onnx = artifacts.exported(MODEL, "fp32", 1, exporter=exporter, launcher=launcher)
    version = _chroot(root, "-c", "import platform; print(platform.python_version())").strip()
    guests = msgspec.structs.replace(HostLauncher().prepare(EXPORTER, "cpu", None, progress), python=version)
    target = root / "root/.cache/levelfield/artifacts" / artifacts.export_folder(MODEL, "fp32", 1, guests)
    shutil.copytree((artifacts.root / onnx.path).parent, target)


def _chroot(root: Path, *arguments: str) -> str:
    """Run the guest's Python here, and return what it prints."""
    return _run(["chroot", str(root), "python3", *arguments], "The guest's Python failed")


def _run(command: list[str], failed: str, environment: Mapping[str, str] = {}) -> str:
    given = {**os.environ, **environment}
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=given)
    if result.returncode:
        lines = registries.without_addresses(result.stderr).strip().splitlines()
        raise LevelfieldError(
            f"{failed}: {lines[-1] if lines else 'it says nothing'}",
            fix="Check the space left, and that `apt-get update` and `pip download` work here.",
        )
    return result.stdout
