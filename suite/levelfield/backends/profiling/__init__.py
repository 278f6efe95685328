"""A framework's own operator profile, read into one form for all: one module for each framework."""
