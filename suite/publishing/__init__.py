"""A folder of runs as a static site, and a run as a card: nothing on any page asks anybody for anything."""
