"""Marks of supervisors: only one that can be shown to be dead is called so."""

import os
import subprocess
import sys

from levelfield.machine import owner


def test_a_live_supervisor_is_not_dead() -> None:
    assert not owner.is_dead(owner.mark_of(os.getpid()))


def test_one_that_ended_is() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
    mark = owner.mark_of(child.pid)
    child.communicate()
    assert owner.is_dead(mark)


def test_a_later_process_with_the_same_id_does_not_stand_for_it() -> None:
    process, _, rest = owner.mark_of(os.getpid()).split(":", 2)
    assert owner.is_dead(f"{process}:1:{rest}")


def test_of_another_boot_or_namespace_nothing_is_known() -> None:
    _, started, boot, namespace = owner.mark_of(os.getpid()).split(":")
    assert not owner.is_dead(f"999999999:{started}:other:{namespace}")
    assert not owner.is_dead(f"999999999:{started}:{boot}:1")
    for mark in ("", "1:1", "x", ":::", f"1::{boot}:{namespace}", f"-1:{started}:{boot}:{namespace}"):
        assert not owner.is_dead(mark)
