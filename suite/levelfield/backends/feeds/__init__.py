"""How batches come from a dataset on disk: each framework's own way, or a thread with NumPy where it has none."""
