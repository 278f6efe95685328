"""Files of other tools that measure, read into records: bounded, decoded by types, and never evaluated."""
