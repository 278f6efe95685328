"""How images and virtual environments are made from a base, a hash-locked requirement set and a recipe."""
