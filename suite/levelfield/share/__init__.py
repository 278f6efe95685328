"""What a stranger is given, and whether it holds: statements, signatures, verification, cards and sites."""
