"""Old against new: what got slower, hungrier or numerically different, and what changed around it."""
