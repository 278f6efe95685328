"""The process inside the container: serves requests over stdin and stdout as JSON lines."""

import sys

IMPORT_PATH = tuple(sys.path if sys.flags.safe_path else sys.path[1:])
"""Where packages were looked for when the process began: imported code may add folders of its own."""
