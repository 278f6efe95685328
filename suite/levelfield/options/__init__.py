"""What people may type to measure, what values they may give, and how a report repeats them."""
