"""Results over time: a store of summaries, the trend of a result, and what differs where it changes."""
