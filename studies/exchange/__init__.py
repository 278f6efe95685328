"""How exchangeable runs are: from records of the same thing over days, how often a comparison is a false alarm."""
