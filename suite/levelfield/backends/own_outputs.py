"""What a user's own network answers, as a list of arrays."""

from typing import Any


def outputs(answer: Any, array: Any) -> list[Any]:  # noqa: ANN401  (whatever a network returns)
    """Return what a network answers as a list of arrays: of tuples, lists and dictionaries, each entry that is one."""
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    if isinstance(answer, tuple | list):
        return [each for part in answer if part is not None for each in outputs(part, array)]
    return [array(answer)]
