"""The answer of `levelfield verify --json`."""

import msgspec

from levelfield.share.attestation import Check
from levelfield.share.verify import Verdict, Verified


class Checked(msgspec.Struct, frozen=True):
    """Whether a report is unchanged."""

    format: int
    verdict: Verdict
    record_verdict: Verdict
    """Of the record and its statement, whatever the page shows."""
    exit_code: int
    """0: nothing is wrong; 1: verification failed; 3: undecided, or by none of the signers."""
    signer: str
    """Empty: nobody whom the reader knows."""
    run: str
    started: str
    checks: tuple[Check, ...]


def checked(found: Verified) -> Checked:
    """Return the result of a verification as it is printed."""
    return Checked(
        format=1,
        verdict=found.verdict,
        record_verdict=found.record_verdict,
        exit_code=found.exit_code,
        signer=found.signer,
        run=found.run.id,
        started=found.run.started,
        checks=found.checks,
    )
