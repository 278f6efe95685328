"""Whether the threads of one arm, which spin after its last call, reach the next arm's timed calls."""
