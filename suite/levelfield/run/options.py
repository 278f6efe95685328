"""The options of the commands that measure."""

from pathlib import Path

import msgspec

from levelfield.images.base import Source
from levelfield.plan import Selection
from levelfield.record.schema import DataSet, Price
from levelfield.schedule.data_sets import DataRequest


class Options(msgspec.Struct, frozen=True):
    """What to measure, and how; its fields have the names of the command line's options."""

    selection: Selection = Selection()
    reports: Path = Path("reports")
    launcher: str | None = None
    """None: containers, or virtual environments where no engine answers."""
    base: Source = "debian"
    resume: str | None = None
    budget_seconds: float | None = None
    until_seconds: float | None = None
    """From the start of the command to its end, with all that has to be made before; None: there is no such end."""
    so_far: bool = False
    """Whether two backends are ranked first, where the images of the others are still to be made."""
    by_clock: bool = True
    """Whether passes are added as long as there is time, where the profile does so."""
    precision_target: float | None = None
    ends_on_verdict: bool = False
    """Each block is finished as soon as it has a verdict (`ab`)."""
    margin: float = 0.02
    seed: int | None = None
    """Of the schedule; None: drawn."""
    identify: bool = False
    command: tuple[str, ...] = ()
    """As the record holds it."""
    launcher_reason: str = ""
    """Why this launcher, where it is not the user's own choice."""
    go_on: str = ""
    """What continues a run that was interrupted; empty: --resume."""
    labels: tuple[str, ...] = ()
    target: float | None = None
    """Accuracy that is trained to; None: that of each network."""
    data_sets: tuple[DataRequest, ...] = ()
    """Data sets that answers are judged on."""
    beside_data: tuple[Path, ...] = ()
    """Folders in which a vocabulary may be, where it is not beside the data: those of the weights."""
    expected_data: tuple[DataSet, ...] = ()
    """What an earlier run answered, which this one repeats."""
    strict: bool = False
    """Results that are not decided change the exit code."""
    sign: Path | None = None
    """SSH key that signs the run's statement."""
    repeat: int = 1
    """Whole runs, one after the other: replicates to compare with others."""
    alternate: tuple[str, ...] = ()
    """Backends of a second side, whose runs take turns with those of the selection; none: there is one side."""
    loadgen_test_s: float | None = None
    """Shortest test of MLPerf LoadGen; None: that of the profile."""
    latency_target_ms: float | None = None
    """Of LoadGen's Server scenario; None: that of MLPerf's rules."""
    price: Price | None = None
    """Of an hour of this machine."""
