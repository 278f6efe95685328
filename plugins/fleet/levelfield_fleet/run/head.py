"""Conducting a fleet's run: placing nodes, bringing runs back, trying again, and going on after the head was killed."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from rich.console import Console

from levelfield import terminals
from levelfield.errors import LevelfieldError, printable
from levelfield.record.append_only import AppendOnly
from levelfield.report.units import plural
from levelfield.schedule.outcomes import utc_now
from levelfield_fleet.run import asking, cluster, declare, images, journal, messages, results
from levelfield_fleet.run.images import Bundle, Expected
from levelfield_fleet.run.journal import AttemptBegun, AttemptFailed, Begun, Event, NodeDone, Resumed
from levelfield_fleet.run.messages import Failed, Measure, Measured, Survey, Surveyed
from levelfield_fleet.run.state import Seen, State, after, is_unfinished, load, newly_seen, next_nodes

POLL_S = 1.0
"""Between looks at which nodes the cluster has."""
SURVEY_S = 600.0
"""How long a node may take to say what it would measure, which is also how long other work of the cluster may keep it
waiting."""
PREPARING_S = 3600.0
"""Time for making images, which is added to the time limit of the run itself."""
GRACE_S = 120.0
"""After a node's own time limit, until its task is ended from here."""
LOST_PAUSE_S = 30.0
"""How long a node that was lost is not tried again under the same id: Ray takes so long to see that a node is gone."""
_REASON_CHARACTERS = 900


class Limits(msgspec.Struct, frozen=True):
    at_once: int | None = None
    """How many nodes may measure at the same time; None: all."""
    tries: int = 2
    patience_s: float = 60.0
    """How long to wait for nodes that are gone when all others have ended."""


def conduct(name: str, reports: Path, on: str, console: Console, limits: Limits, begun: Begun | None = None) -> State:
    """Let every node of a cluster measure, and bring the runs back.

    `begun`: what `declare` returned; None: the fleet was begun before, and its nodes without a run get their tries
    anew. Raises LevelfieldError: the cluster cannot be used, there is such a fleet already, or it was begun with
    another Levelfield. What came back is kept.
    """
    if begun is None:
        earlier = load(name, reports).begun
        journal.check_own(earlier)
        declare.check_tool(earlier)
    folder = journal.folder(name, reports)
    with cluster.connected(on):
        if begun is not None:
            journal.create(begun, reports)
        with journal.open_journal(name, reports) as opened:
            head = _Head(load(name, reports), opened, folder, console, limits)
            if begun is None:
                head.write(Resumed(utc_now()))
            try:
                head.run()
            except KeyboardInterrupt:
                raise LevelfieldError(
                    "Interrupted; the runs that came back are kept.", fix=f"Go on with --resume {name}."
                ) from None
            finally:
                head.end_all()
            return head.state


class _Running(NamedTuple):
    reference: Any
    """To the reply that is awaited."""
    step: Literal["survey", "measure"]
    deadline: float
    """As `time.monotonic` counts."""
    seen: Seen
    expected: Mapping[str, Expected]


class _Head:
    """A fleet while it is conducted."""

    def __init__(
        self, state: State, journal: AppendOnly[Event], folder: Path, console: Console, limits: Limits
    ) -> None:
        self.state = state
        self._journal = journal
        self._folder = folder
        self._console = console
        self._limits = limits
        self._running: dict[str, _Running] = {}
        self._seen: dict[str, Seen] = {}
        self._pauses: dict[str, float] = {}
        self._bundles: dict[tuple[str, ...], Bundle] = {}
        self._expected: dict[tuple[str, ...], dict[str, Expected]] = {}

    def write(self, event: Event) -> None:
        self._journal.write(event)
        self.state = after(self.state, event)

    def run(self) -> None:
        """Conduct until every node has a run, has used up its tries, or has been gone for too long."""
        gone_since: float | None = None
        while True:
            self._look()
            self._begin_next()
            if self._running:
                gone_since = None
                self._advance()
                continue
            waiting = [
                node for node in self.state.nodes.values() if is_unfinished(self.state, node, self._limits.tries)
            ]
            if not waiting:
                break
            if gone_since is None:
                gone_since = time.monotonic()
                self._say(f"Waiting for {', '.join(node.name for node in waiting)}.")
            if time.monotonic() - gone_since > self._limits.patience_s and not self._paused():
                for node in waiting:
                    self.write(AttemptFailed(utc_now(), node.name, node.reason or "It left the cluster."))
                break
            time.sleep(POLL_S)
        if not self.state.nodes:
            raise LevelfieldError("The cluster has no node.", fix="Start one: ray start --address=HOST:PORT.")

    def end_all(self) -> None:
        """End what still runs on any node."""
        for running in self._running.values():
            asking.end(running.reference)
        self._running.clear()

    def _say(self, text: str) -> None:
        terminals.say(self._console, text)

    def _paused(self) -> set[str]:
        now = time.monotonic()
        return {ray_id for ray_id, until in self._pauses.items() if until > now and ray_id in self._seen}

    def _look(self) -> None:
        """Take notice of the nodes that the cluster has now."""
        nodes = cluster.alive(identify=self.state.begun.identify)
        self._seen = {node.ray_id: node for node in nodes}
        for event in list(newly_seen(self.state, nodes, utc_now())):
            self.write(event)
            (self._folder / event.node).mkdir(exist_ok=True)  # a node without a run is shown as one

    def _begin_next(self) -> None:
        alive = self._seen.keys() - self._paused()
        limits = self._limits
        for name in next_nodes(self.state, self._running, alive, at_once=limits.at_once, tries=limits.tries):
            node = self.state.nodes[name]
            self.write(AttemptBegun(utc_now(), name))
            begun = self.state.begun
            seen = self._seen[node.ray_id]
            reference = asking.ask(seen, messages.encode(Survey(begun.selection, begun.launcher, begun.base)), ())
            self._running[name] = _Running(reference, "survey", time.monotonic() + SURVEY_S, seen, {})
            self._say(f"{name}: begins.")

    def _advance(self) -> None:
        """Wait a moment for replies, and go on with what they say."""
        of = {running.reference: name for name, running in self._running.items()}
        for reference in asking.wait(list(of), POLL_S):
            self._hear(of[reference])
        now = time.monotonic()
        for name in [name for name, running in self._running.items() if running.deadline < now]:
            step = self._running[name].step
            what = "did not begin: other work of the cluster has it, or it hangs" if step == "survey" else "hangs"
            self._fail(name, f"The node {what}.")

    def _hear(self, name: str) -> None:
        running = self._running[name]
        try:
            answer = messages.reply_of(asking.reply(running.reference))
            if running.step == "survey" and isinstance(answer, Surveyed):
                self._running[name] = self._measure(name, running, answer)
            elif running.step == "measure" and isinstance(answer, Measured):
                self._keep(name, running, answer)
            else:
                self._fail(name, answer.reason if isinstance(answer, Failed) else "It answered another question.")
        except asking.LostError as error:
            self._pauses[running.seen.ray_id] = time.monotonic() + LOST_PAUSE_S
            self._say(f"{name}: {error.detail}")
            self._fail(name, error.message)
        except results.RefusedError as error:
            self._fail(name, str(error), final=True)
        except LevelfieldError as error:
            self._fail(name, str(error))

    def _measure(self, name: str, running: _Running, surveyed: Surveyed) -> _Running:
        """Let a node measure that was surveyed."""
        begun = self.state.begun
        if surveyed.tool_sha256 != begun.tool_sha256:
            raise results.RefusedError(
                f"The node has another Levelfield: {surveyed.tool_version} ({surveyed.tool_sha256[:12]}), and "
                f"{begun.tool_version} ({begun.tool_sha256[:12]}) is here."
            )
        references = tuple(sorted(surveyed.locks))
        expected = self._images(references)
        for reference, sha256 in surveyed.locks.items():
            if sha256 != expected[images.name_of(reference)].lock_sha256:
                raise results.RefusedError(f"The node has another lock of {reference}.")
        bundle = self._bundle(references) if surveyed.lacks_files else Bundle()
        request = Measure(
            fleet=begun.fleet,
            node=name,
            number=len(self.state.nodes[name].runs),
            words=begun.words,
            seed=self.state.seed(name),
            limit_s=begun.limit_s + PREPARING_S,
            bundle_sha256=bundle.sha256,
        )
        return running._replace(
            reference=asking.ask(running.seen, messages.encode(request), bundle.chunks),
            step="measure",
            deadline=time.monotonic() + request.limit_s + GRACE_S,
            expected=expected,
        )

    def _images(self, references: tuple[str, ...]) -> dict[str, Expected]:
        if references not in self._expected:
            begun = self.state.begun
            self._expected[references] = images.expected(references, begun.launcher, begun.base, self._say)
        return self._expected[references]

    def _bundle(self, references: tuple[str, ...]) -> Bundle:
        if references not in self._bundles:
            self._bundles[references] = images.bundle(references, self.state.begun.launcher, self._say)
        return self._bundles[references]

    def _keep(self, name: str, running: _Running, measured: Measured) -> None:
        begun = self.state.begun
        asked = results.Asked(
            node=name,
            seed=self.state.seed(name),
            launcher=begun.launcher,
            tool_sha256=begun.tool_sha256,
            images=running.expected,
            identify=begun.identify,
        )
        kept = results.keep(measured, asked, self._folder, self.state.known_runs())
        self.write(NodeDone(utc_now(), name, kept.run, kept.sha256))
        del self._running[name]
        of = f" ({len(self.state.nodes[name].runs)} of {begun.repeat})" if begun.repeat > 1 else ""
        self._say(f"{name}: done, {kept.run}{of}.")

    def _fail(self, name: str, reason: str, *, final: bool = False) -> None:
        text = printable(reason)[:_REASON_CHARACTERS]
        self.write(AttemptFailed(utc_now(), name, text, final=final))
        asking.end(self._running.pop(name).reference)
        node = self.state.nodes[name]
        left = 0 if final else max(self._limits.tries - node.failures, 0)
        what = f"{plural(left, 'try', 'tries')} left" if left else "not tried again"
        self._say(f"{name}: failed ({what}). {text}")
