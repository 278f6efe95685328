"""What runs said over time: a store of summaries, the trend of a result, and what changed where it moved."""
