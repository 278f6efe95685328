"""A real worker process, spoken to over its pipes."""

import subprocess
import sys
from typing import Self

import msgspec

from levelfield.worker.messages import Reply, Request, Task
from tests.commands import IMPORTS

CANARY = Task(backend="canary", model="canary", batch=1, threads=1)


class Conversation:
    """`python -m levelfield.worker`, spoken to over its pipes."""

    def __init__(self, *, code: str = "", cpu: int | None = None) -> None:
        start = [sys.executable, "-m", "levelfield.worker"]
        if code:
            start = [sys.executable, "-c", f"{code}\nfrom levelfield.worker.__main__ import main\nmain()"]
        self.process = subprocess.Popen(
            start,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONPATH": IMPORTS, "LEVELFIELD_CPUS": "" if cpu is None else str(cpu)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self.ready = self.reply()

    def say(self, line: bytes) -> Reply:
        self.stdin.write(line + b"\n")
        self.stdin.flush()
        return self.reply()

    def ask(self, request: Request) -> Reply:
        return self.say(msgspec.json.encode(request))

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
