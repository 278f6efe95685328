"""One run: launch groups, generations, rounds, stopping and resuming."""
