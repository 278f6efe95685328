"""Versions of frameworks that are known to answer wrongly on CPUs, by `images/compatibility.toml`.

A test runs the case of each row in the locked version that has it, and in one that has not.
"""

from collections.abc import Iterator, Mapping

import msgspec

from levelfield.compatibility.gate import Table, WrongAnswer, is_version


class Known(msgspec.Struct, frozen=True):
    """A version that is installed or locked, and what is known of it."""

    distribution: str
    version: str
    row: WrongAnswer

    @property
    def sentence(self) -> str:
        """`onnxruntime 1.22.1 is known to answer wrongly on CPUs: AveragePool … (microsoft/onnxruntime 26708).`."""
        of = f" in {' and '.join(self.row.backends)}" if self.row.backends else ""
        return (
            f"{self.distribution} {self.version} is known to answer wrongly on CPUs{of}: {self.row.where} "
            f"({self.row.issue})."
        )


def known_wrong(table: Table, versions: Mapping[str, str], backend: str | None = None) -> Iterator[Known]:
    """Yield what is known of the frameworks of a lock or an environment that compute on CPUs.

    `versions`: distribution to version. `backend`: the one that is asked about; None: all that they serve.
    """
    for row in table.wrong_answer:
        for name in row.distributions:
            version = versions.get(name, "").partition("+")[0]
            if not is_version(version) or not row.contains(version):
                continue
            if backend is None or not row.backends or backend in row.backends:
                yield Known(name, version, row)
