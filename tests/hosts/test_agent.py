"""The agent of a host, over a real connection: what it does, and what it refuses."""

import socket
import threading
import time

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.hosts import agent, remote
from suite.hosts.channel import MessageChannel, connect
from suite.hosts.messages import End, Ended, Hello, Here, Prepare, Prepared, Refused, Reply, Start, Started
from suite.launchers.host import HostLauncher
from suite.worker.messages import Rendezvous
from suite.worker.rendezvous import Listener

KEY = "ab" * 32
TOOL = "1" * 64


class Host:
    """An agent that serves at a port, and what it says."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        def agent_at(address: str) -> agent.Agent:
            return agent.Agent(HostLauncher(), TOOL, address, (), self.said.append)

        agent.serve(self._listening, KEY, agent_at, self.said.append)

    def channel(self) -> MessageChannel[Reply]:
        return MessageChannel(connect("127.0.0.1", self.port, KEY), Reply)


def ask(channel: MessageChannel[Reply], request: msgspec.Struct) -> Reply:
    channel.send(request)
    return channel.receive(60)


def start(name: str, tag: str, port: int, **changes: object) -> Start:
    asked = Start(name, tag, "mlp", 1, 1 << 30, "cache", Rendezvous("127.0.0.1", port, KEY))
    return msgspec.structs.replace(asked, **changes)


def test_it_starts_a_worker_that_joins_the_one_that_leads_it() -> None:
    host = Host()
    channel = host.channel()
    here = ask(channel, Hello(TOOL))
    assert isinstance(here, Here)
    assert here.machine["cpu"]
    assert "identity" not in here.machine
    prepared = ask(channel, Prepare("torch", "cpu", None, ("mlp",)))
    assert isinstance(prepared, Prepared)
    assert list(prepared.weights_sha256) == ["mlp"]
    listener = Listener("127.0.0.1", KEY)
    assert ask(channel, start("one", prepared.image.tag, listener.port)) == Started()
    (joined,) = listener.accept(1)
    assert b'"type":"ready"' in joined.makefile("rb").readline()
    joined.close()  # the leading worker is gone, so it ends, and nobody had to say so
    deadline = time.monotonic() + 20
    while "one has ended" not in host.said and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "one has ended" in host.said
    assert isinstance(ask(channel, End("one")), Ended)
    channel.close()


def test_a_worker_that_nobody_leads_says_why_it_ended() -> None:
    host = Host()
    channel = host.channel()
    prepared = ask(channel, Prepare("torch", "cpu", None, ()))
    assert isinstance(prepared, Prepared)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    ask(channel, start("two", prepared.image.tag, port))
    deadline = time.monotonic() + 20
    while "two has ended" not in host.said and time.monotonic() < deadline:
        time.sleep(0.05)
    ended = ask(channel, End("two"))
    assert isinstance(ended, Ended)
    assert "Connection refused" in ended.stderr
    channel.close()


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Hello("2" * 64), "It runs another Levelfield than this run."),
        (Prepare("nothing", "cpu", None, ()), "There is no image of the name 'nothing'."),
        (Prepare("torch", "cpu", "1.0", ()), "The host launcher runs what is installed here"),
        (Prepare("torch", "cpu", None, ("../mlp",)), "There is no model"),
        (start("x", "host:torch", 1), "That image was not prepared here."),
    ],
)
def test_what_it_refuses(request_: msgspec.Struct, says: str) -> None:
    channel = Host().channel()
    reply = ask(channel, request_)
    assert isinstance(reply, Refused)
    assert says in reply.message
    channel.close()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cache": "../outside"}, "That is no name of a folder."),
        ({"cache": ""}, "That is no name of a folder."),
        ({"cache": "x" * 300}, "File name too long"),
        ({"cache": "a\0b"}, "null"),
        ({"model": "nothing"}, "There is no model"),
        ({"threads": 100_000}, "CPUs"),
    ],
)
def test_what_it_does_not_start(changes: dict[str, object], says: str) -> None:
    channel = Host().channel()
    prepared = ask(channel, Prepare("torch", "cpu", None, ()))
    assert isinstance(prepared, Prepared)
    reply = ask(channel, start("x", prepared.image.tag, 1, **changes))
    assert isinstance(reply, Refused)
    assert says in reply.message
    channel.close()


def test_what_is_no_message_ends_the_run_and_the_next_one_is_served() -> None:
    host = Host()
    with connect("127.0.0.1", host.port, KEY) as connected:
        connected.sendall(b"\x00\x00\x00\x05{bad}")
        assert connected.recv(1) == b""
    assert isinstance(ask(host.channel(), Hello(TOOL)), Here)


def test_another_key_is_turned_away() -> None:
    host = Host()
    with pytest.raises(LevelfieldError, match=r"does not take part: it did not prove that it has the key"):
        connect("127.0.0.1", host.port, "cd" * 32)
    assert isinstance(ask(host.channel(), Hello(TOOL)), Here)
    assert "turned away 127.0.0.1, which has not the key" in host.said


def test_a_run_says_what_is_wrong_with_a_host() -> None:
    host = Host()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(LevelfieldError, match=f"127.0.0.1:{port} cannot be reached: Connection refused"):
        remote.reach([("127.0.0.1", port)], KEY)
    hosts = remote.reach([("127.0.0.1", host.port)], KEY)
    with pytest.raises(LevelfieldError, match=r"10000 threads were asked for, and host 2 has \d+ CPUs"):
        hosts.greet(TOOL, 10_000)
    hosts.greet(TOOL, 1)
    assert len(hosts.machines) == 1
    image = HostLauncher().prepare("torch", "cpu", None, lambda _: None)
    with pytest.raises(LevelfieldError, match="Host 2 makes other weights than this host"):
        hosts.prepare([image], {"mlp": "0" * 64})
    with pytest.raises(LevelfieldError, match=r"Host 2 has another image of torch than this host \(lock_sha256\)"):
        hosts.prepare([msgspec.structs.replace(image, lock_sha256="f" * 64)], {})
    hosts.close()
