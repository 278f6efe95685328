"""Proofs by measurement that take minutes of a quiet machine: sessions of their own, whose records are committed."""
