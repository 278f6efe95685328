"""Where a worker runs: a container, a virtual environment, or the current interpreter."""
