"""Results over time: summaries of runs, the trend of a result, and what differs where it changes."""
