"""How often the verdict on a fleet errs, and what it finds, by simulation: it measures nothing."""
