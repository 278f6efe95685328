"""What the machine is, what it does while windows are measured, and what on it could be better."""
