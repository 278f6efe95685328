"""When a node is not like its peers: pure functions on arrays, proven by simulation."""
