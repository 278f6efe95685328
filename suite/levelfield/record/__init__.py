"""The record of a run: its schema, its journal, and reading and writing both safely."""
