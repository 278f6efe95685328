"""What `levelfield upgrade` says of a machine that really reboots into another kernel, and whose power is cut."""
