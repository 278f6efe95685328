"""How each framework loads a model and runs a step: one file per backend."""
