"""A real worker process, spoken to over its pipes."""

import subprocess
import sys
from typing import Self, TypeVar

import msgspec

from levelfield.worker.messages import Reply, Request, Task
from tests.commands import IMPORTS
from tests.known import known

_R = TypeVar("_R", bound=Reply)
CANARY = Task(backend="canary", model="canary", batch=1, threads=1)


class Conversation:
    """`python -m levelfield.worker`, spoken to over its pipes."""

    def __init__(self, *, code: str = "", cpu: int | None = None) -> None:
        start = [sys.executable, "-m", "levelfield.worker"]
        if code:
            start = [sys.executable, "-c", f"{code}\nfrom levelfield.worker.__main__ import main\nmain()"]
        environment = {"PYTHONPATH": IMPORTS, "LEVELFIELD_CPUS": "" if cpu is None else str(cpu)}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(start, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        self.stdin, self.stdout = known(self.process.stdin), known(self.process.stdout)
        self.stderr = known(self.process.stderr)
        self.ready = self.reply()

    def say(self, line: bytes) -> Reply:
        self.stdin.write(line + b"\n")
        self.stdin.flush()
        return self.reply()

    def ask(self, request: Request) -> Reply:
        return self.say(msgspec.json.encode(request))

    def get(self, request: Request, kind: type[_R]) -> _R:
        """Ask, and check the kind of the reply."""
        reply = self.ask(request)
        assert isinstance(reply, kind), reply
        return reply

    def reply(self) -> Reply:
        line = self.stdout.readline()
        reply: Reply = msgspec.json.decode(line, type=Reply)
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self.code = self.process.wait(60)
        self.words = self.stderr.read().decode()
        self.stdout.close()
        self.stderr.close()
