"""The `levelfield` command: options and help; what a command does is in other packages."""
