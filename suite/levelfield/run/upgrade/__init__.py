"""`levelfield upgrade`, the measuring half: declared once, measured boot by boot, kept in a journal."""
