"""A whole fleet on Ray's own nodes of this machine: nodes and heads that are killed, slow nodes, empty caches."""
