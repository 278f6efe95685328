"""Records as tables, for whoever goes on with a DataFrame."""
