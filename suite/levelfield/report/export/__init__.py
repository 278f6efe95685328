"""Records as tables, for analysis in a DataFrame."""
