"""An MLP for the digits, of the same layers as the MLP that is benchmarked."""
