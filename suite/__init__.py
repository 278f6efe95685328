"""Levelfield: a level playing field for deep-learning stacks."""

__version__ = "0.1.0"
