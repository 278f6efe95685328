"""Running a stranger's report again: what it asks for, whether this checkout knows it, and what came of it."""
