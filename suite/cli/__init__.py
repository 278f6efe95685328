"""The `levelfield` command: options, help and what is typed; what a command does is elsewhere."""
