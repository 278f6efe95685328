"""Two arms of one run: only the arms differ, not the machine or the time."""
