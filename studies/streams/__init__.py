"""Verdicts of `ab` on a real machine: many decisions from one long run of pairs, of which no two share a launch."""
