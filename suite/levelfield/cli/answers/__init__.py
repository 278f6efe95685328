"""What commands say with `--json`: a type for each command, whose JSON Schema `levelfield schema COMMAND` prints.

Of a type with a version (`format`) a field may be added later; none changes its meaning.
"""
