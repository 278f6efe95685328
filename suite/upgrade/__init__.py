"""Whether an upgrade of the machine's software is safe, measured over restarts."""
