"""The version of Levelfield, which records and pages name."""

__version__ = "0.1.0"
