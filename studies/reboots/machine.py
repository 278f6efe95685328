"""A machine in software: QEMU without KVM, started with a kernel of the trial's choice."""

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from levelfield import untrusted
from levelfield.errors import LevelfieldError

CPUS = 2
MEMORY_BYTES = 3 << 30
LIMIT_S = 1800
"""A boot that takes longer has failed: with its run it takes about two minutes on two quiet cores."""
BEGINS, ENDED = "trial: next begins", "trial: next ended: "
"""What the unit prints on the console before and after `levelfield upgrade next`."""
_MOST_BYTES = 8 << 20
"""Longest console output that is read; a boot prints 20 KiB."""
_LINE = re.compile(r"^\[ *\d+\.\d+\] [^ ]+\[\d+\]: ?(?P<text>.*)$")
"""A line that systemd passes on from a service, journald.conf(5)."""
_POLL_S = 0.2
_KERNEL_OPTIONS = (
    "root=/dev/vda ro console=ttyS0 quiet systemd.show_status=false "
    # Without these two the kernel reads an emulated HPET, which takes some microseconds for each time.
    "tsc=reliable clocksource=tsc"
)


class Boot:
    """A machine that runs."""

    def __init__(self, process: subprocess.Popen[bytes], console: Path) -> None:
        self._process = process
        self._console = console
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the machine was switched on."""
        return time.monotonic() - self._started

    def text(self) -> str:
        """Return what the console shows so far."""
        if not self._console.is_file():
            return ""
        return untrusted.read_plain(self._console, _MOST_BYTES).decode(errors="replace").replace("\r", "")

    def wait_for(self, words: str) -> bool:
        """Wait until the console shows some words; return whether it did before the machine was off."""
        while words not in self.text():
            if self._is_off():
                return words in self.text()
            time.sleep(_POLL_S)
        return True

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the machine is off, or for some seconds; return whether it is off."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self._is_off():
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(_POLL_S)
        return True

    def cut(self) -> None:
        """Cut the power: SIGKILL to the emulator."""
        self._process.kill()
        self._process.wait()

    def _is_off(self) -> bool:
        if self._process.poll() is not None:
            if self._process.returncode > 0:
                raise LevelfieldError(f"QEMU ended with code {self._process.returncode}.", fix=f"See {self._console}.")
            return True
        if self.seconds > LIMIT_S:
            raise LevelfieldError(f"The machine is not off after {LIMIT_S} s.", fix=f"See {self._console}.")
        return False


@contextlib.contextmanager
def boot(disk: Path, kernels: Path, release: str, console: Path) -> Iterator[Boot]:
    """Switch the machine on; on leaving, it is off."""
    console.unlink(missing_ok=True)
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"]
    command += ["-smp", str(CPUS), "-m", f"{MEMORY_BYTES >> 20}M", "-nodefaults", "-display", "none", "-no-reboot"]
    command += ["-serial", f"file:{console}", "-drive", f"file={disk},format=raw,if=virtio"]
    command += ["-kernel", str(kernels / f"vmlinuz-{release}"), "-initrd", str(kernels / f"initrd.img-{release}")]
    command += ["-append", _KERNEL_OPTIONS]
    with console.with_suffix(".qemu").open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
    try:
        yield Boot(process, console)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def lines(console: str) -> tuple[str, ...]:
    """Return what the guest's services printed."""
    return tuple(each["text"].rstrip() for each in map(_LINE.match, console.splitlines()) if each)


def result(console: str) -> str:
    """Return how `next` ended: systemd's result and the exit status; empty: the power was cut before."""
    after = console.rpartition(ENDED)[2] if ENDED in console else ""
    return after.splitlines()[0].strip() if after else ""


_BEYOND_REPAIR = 4
"""Exit codes of e2fsck(8) are a sum; from this on, errors are left."""


def make_disk(folder: Path, image: Path, size_bytes: int) -> None:
    """Write an ext4 file system that holds a folder."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    result = _call("mke2fs", "-q", "-F", "-t", "ext4", "-d", str(folder), str(image))
    if result.returncode:
        raise LevelfieldError(
            f"The file system {image.name} could not be made: {_last_words(result)}.",
            fix="Check the space left with `df -h`.",
        )


def replay(image: Path) -> None:
    """Replay the file system's journal, as the kernel does when it mounts it after the power was cut."""
    result = _call("e2fsck", "-p", "-E", "journal_only", str(image))
    if result.returncode >= _BEYOND_REPAIR:
        raise LevelfieldError(
            f"The file system {image.name} is damaged: {_last_words(result)}.", fix="Run the trial again."
        )


def put(image: Path, content: str, path: str) -> None:
    """Write a file into a folder that is there."""
    source = image.with_suffix(".put")
    source.write_text(content, encoding="utf-8")
    result = _call("debugfs", "-w", "-R", f'write "{source}" "{path}"', str(image))
    source.unlink()
    # debugfs exits with 0 whatever a request does; what went wrong is all that it prints beyond its first line.
    problems = [line for line in result.stderr.splitlines()[1:] if line]
    if result.returncode or problems:
        raise LevelfieldError(f"{path} could not be written into {image.name}: {_last_words(result)}.")


def take(image: Path, path: str, target: Path) -> Path:
    """Copy a folder out of the file system."""
    target.mkdir(parents=True, exist_ok=True)
    _call("debugfs", "-R", f'rdump "{path}" "{target}"', str(image))
    return target / Path(path).name


def _call(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise LevelfieldError(f"{command[0]} is not installed.", fix="Run `apt-get install e2fsprogs`.") from error


def _last_words(result: subprocess.CompletedProcess[str]) -> str:
    lines = (result.stderr or result.stdout).strip().splitlines()
    return lines[-1].rstrip(".") if lines else "it says nothing"
