"""How often the rules err: simulated in a world whose machine has two states, with effects from published records."""
