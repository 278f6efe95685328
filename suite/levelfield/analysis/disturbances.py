"""What became of disturbed rounds."""


def fate(disturbed: int, kept: int) -> str:
    """Say what became of disturbed rounds, as the end of a sentence that begins with them.

    Examples
    --------
    >>> fate(3, 3)
    'count all the same, since their generations had no others'
    >>> fate(3, 0)
    'are left out'
    >>> fate(3, 1)
    'are left out, but for 1 whose generation had no others'
    """
    if kept == disturbed:
        return "count all the same, since their generations had no others"
    return f"are left out, but for {kept} whose generation had no others" if kept else "are left out"
