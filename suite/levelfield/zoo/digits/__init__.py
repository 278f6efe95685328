"""Real data that is small enough to travel along: scikit-learn's handwritten digits, and their fixed split."""
