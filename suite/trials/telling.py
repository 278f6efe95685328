"""What a trial tells while it prepares: each step on a line of its own."""

from rich.console import Console
from rich.markup import escape

from suite.record.schema import Warning_
from suite.schedule.listener import SilentListener


class Lines(SilentListener):
    """Prints steps and warnings, and nothing of rounds."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        self._console.print(f"[dim]{escape(text)}[/]", highlight=False)

    def warn(self, warning: Warning_) -> None:
        self.say(warning.message)
