"""Where a report comes from, and whether it holds: bills of materials, statements, signatures, and checking them."""
