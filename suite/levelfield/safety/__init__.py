"""Untrusted text and files: bounded on reading, escaped on output."""
