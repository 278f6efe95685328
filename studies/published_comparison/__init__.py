"""A well-known comparison of five frameworks, as it was published and fairly: two tables side by side."""
