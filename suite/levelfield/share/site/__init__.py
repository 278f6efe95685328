"""A folder of runs as a static site: no page makes a request to another host."""
