"""Everything that a machine with no network needs, in one file."""
