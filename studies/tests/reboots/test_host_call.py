"""What the guest measures, timed on this machine."""

import pytest

from studies import commands
from studies.reboots import host_call


@pytest.mark.docker
def test_a_call_here_takes_microseconds() -> None:
    assert 500 < host_call.measure(commands.Terminal()) < 5_000_000
