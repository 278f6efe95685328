"""Refusals: data that give no valid result."""


class InsufficientData(ValueError):  # noqa: N818 (it is a refusal and reads as one where it is caught)
    """Too few launches, rounds or samples for the requested result."""


class UnusableData(ValueError):  # noqa: N818 (the same)
    """Values that no measurement can give: infinite, not a number, zero or negative times, the wrong shape."""
