"""A pool of encoder actors: takes blocks, and returns answers in the order of the blocks even if actors are lost."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

from indexer.errors import ExecutorUnavailable
from indexer.segments.folders import new_name
from spanseek_ray import encoder_actors, ray_nodes, transport
from spanseek_ray.actor import Failed
from spanseek_ray.encoder_actors import Answer, Crew, Handle, Worker
from spanseek_ray.settings import ClusterOptions
from spanseek_ray.transport import Ref, Unanswered

# Blocks of one actor: the one it encodes, and the next, so that it never waits.
_AHEAD: Final = 2
# Blocks for each actor, from the oldest that is not published to the newest that was read.
_WINDOW: Final = 4
# The number of actors that one block may end in succession; also the failed starts allowed per actor of the pool.
TRIES: Final = 5
# Seconds in which a first actor must have started.
_START_S: Final = 300.0

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Block:
    """Documents of which one actor makes a segment. ``name``, the segment's name, is new whenever the block is sent."""

    documents: Sequence[Any]
    characters: int
    name: str = ""
    tries: int = 0
    answer: Answer | None = None


@dataclass(eq=False, slots=True)
class _Seat:
    """An actor, the call that starts it (None once it has returned), and the calls sent to it with their blocks."""

    handle: Handle
    starting: Ref | None
    sent: deque[tuple[Ref, Block]] = field(default_factory=deque)

    @property
    def next(self) -> Ref | None:
        """The call that returns next."""
        return self.starting or (self.sent[0][0] if self.sent else None)


class EncoderPool:
    """The encoder actors of one job. Use it as a context manager: the actors end when the block ends.

    ``make`` creates the worker of an actor, in the actor's process.
    """

    def __init__(self, make: Callable[[], Worker], options: ClusterOptions, *, by_gpu: bool) -> None:
        self._make, self._options, self._by_gpu = make, options, by_gpu
        self._order: deque[Block] = deque()
        self._again: deque[Block] = deque()
        self._seats: list[_Seat] = []
        self._crew = Crew(0, False)
        self._failed_starts = 0
        self._is_read = False

    def __enter__(self) -> "EncoderPool":
        ray_nodes.connect(self._options)
        self._crew = encoder_actors.crew(self._options, by_gpu=self._by_gpu)
        for _ in range(self._crew.count):
            self._seat()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for seat in self._seats:
            encoder_actors.end(seat.handle)

    @property
    def under_way(self) -> list[str]:
        """The names of segments that actors are making, or that are finished and may not be published yet."""
        return [block.name for block in self._order]

    def answered(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks in order, each with its answer. Taking the next block marks the previous one as done.

        Raises the error that an actor returned, and ``ExecutorUnavailable`` if no actor starts, if too many actors end
        while they start, or if one block ends ``TRIES`` actors.
        """
        source = iter(blocks)
        while True:
            self._send(source)
            if self._order and self._order[0].answer is not None:
                yield self._order[0]
                self._order.popleft()
            elif self._order or not self._is_read:
                self._wait()
            else:
                return

    def _seat(self) -> None:
        self._seats.append(_Seat(*encoder_actors.new_actor(self._make, self._crew.on_gpu)))

    def _send(self, source: Iterator[Block]) -> None:
        """Send blocks to the actors that have started: a first block to each of them, then a second one."""
        for ahead in range(_AHEAD):
            for seat in self._seats:
                if seat.starting is not None or len(seat.sent) > ahead:
                    continue
                block = self._next(source)
                if block is None:
                    return
                block.name = new_name()
                seat.sent.append((encoder_actors.encode(seat.handle, block.name, block.documents), block))

    def _next(self, source: Iterator[Block]) -> Block | None:
        if self._again:
            return self._again.popleft()
        if len(self._order) >= _WINDOW * self._crew.count:
            return None
        block = next(source, None)
        if block is None:
            self._is_read = True
        else:
            self._order.append(block)
        return block

    def _wait(self) -> None:
        """Wait until calls return, and process their results."""
        calls = {seat.next: seat for seat in self._seats if seat.next is not None}
        done = transport.first_done(list(calls), _START_S)
        if not done and not any(seat.starting is None for seat in self._seats):
            raise ExecutorUnavailable(
                f"No encoder actor has started in {_START_S:.0f} seconds.",
                hint="`ray status` says which processors and GPUs are free.",
            )
        for call in done:
            self._hear(calls[call], call)

    def _hear(self, seat: _Seat, call: Ref) -> None:
        try:
            answer = transport.result(call)
        except Unanswered as error:
            self._replace(seat, error)
            return
        if isinstance(answer, Failed):
            raise answer.error
        if seat.starting is not None:
            seat.starting, self._failed_starts = None, 0
        else:
            _, block = seat.sent.popleft()
            block.answer = answer

    def _replace(self, seat: _Seat, error: Unanswered) -> None:
        """Start another actor in place of one that is lost, and have others encode what it was sent."""
        _log.warning("an encoder actor was lost, another one is started: %s", error)
        self._seats.remove(seat)
        encoder_actors.end(seat.handle)
        self._count(seat, error)
        self._again.extendleft(block for _, block in reversed(seat.sent))
        self._seat()

    def _count(self, seat: _Seat, error: Unanswered) -> None:
        """Raise ``ExecutorUnavailable`` if too many actors have ended at their start, or by one block."""
        if seat.starting is not None:
            self._failed_starts += 1
            if self._failed_starts >= TRIES * self._crew.count:
                raise _given_up(f"{self._failed_starts} encoder actors ended as they started", error) from error
            return
        block = seat.sent[0][1]
        block.tries += 1
        if block.tries >= TRIES:
            what = f"{len(block.documents)} documents ended {TRIES} encoder actors, one after the other"
            raise _given_up(what, error) from error


def _given_up(what: str, error: Unanswered) -> ExecutorUnavailable:
    return ExecutorUnavailable(
        f"{what}; the last one: {error}",
        hint="The nodes may have too little memory: set fewer SPANSEEK_RAY_ENCODERS, and look at Ray's logs. "
        "What was published is kept.",
    )
