"""What workers read and are compared with: weights, inputs, references, a user's own model and images."""
