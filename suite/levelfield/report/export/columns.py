"""The tables that a record can be written as, and their columns, in order."""

from collections.abc import Mapping
from types import MappingProxyType

RUN = ("run", "started", "model", "scenario", "precision", "batch", "threads", "processes", "device", "arm", "backend")
"""Columns that every table begins with."""
COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "results": (
            *RUN, "version", "standing", "rank", "metric", "unit", "value", "low", "high", "p90_ns", "p99_ns",
            "cpu_cores", "launches", "calls", "relative_error", "equal", "behind_best", "behind_low", "behind_high",
            "behind_half_width", "best_is", "quantiles_absent", "windows_of", "contended_behind", "contended_low",
            "contended_high",
        ),
        "launches": (
            *RUN, "generation", "version", "started_launch", "start_ns", "import_ns", "load_ns", "first_call_ns",
            "peak_rss_bytes", "environment_padding_bytes", "relative_error", "equal", "failure", "cache_warm",
        ),
        "windows": (
            *RUN, "generation", "round", "turn", "disturbed", "state", "calls", "median_ns", "window_ns", "user_ns",
            "system_ns", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults",
        ),
        "calls": (*RUN, "generation", "round", "turn", "disturbed", "call", "call_ns"),
    }
)  # fmt: skip
"""Table to its columns, in order."""
