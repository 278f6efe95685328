"""Where a worker lives: a container, a virtual environment, or the current interpreter."""
