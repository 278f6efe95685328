"""The machine: its fingerprint, signals during windows, and findings on its state."""
