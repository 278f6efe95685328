"""Measure what a report measured, on this machine."""
