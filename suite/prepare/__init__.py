"""What workers are given and judged by: weights, inputs, references, a user's own model and images."""
