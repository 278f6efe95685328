"""Programs that call other tools, each in the tool's own image: their text is given to a container, and runs there."""
