"""How often `levelfield upgrade` errs, and what it finds, by simulation: it measures nothing."""
