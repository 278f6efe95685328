"""What is computed: each model's shapes, seeded weights and inputs, its float64 reference and native definitions."""
