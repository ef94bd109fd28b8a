"""Responses listed from shards at any place: in order, or strip by strip as they are drawn; a part held out.

A place is the number of a cell in a dense shard, of a response in a sparse one. Which places are held out
is computed from their numbers, and only the order of strips is kept, a 32nd of an order of cells.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from camilla.fitting.layout import HELD_OUT
from camilla.table.shards import MISSING, DenseShard, Shard

STRIP = 32  # places that lie together and are drawn together: half a cache line of bytes
PLACES = 1 << 20  # looked at together

Places = NDArray[np.int64]


class Listed(NamedTuple):
    """Responses one by one."""

    learner: NDArray[np.int32]
    sample: NDArray[np.int32]
    response: NDArray[np.float32]

    def take(self, rows: slice | NDArray[np.integer]) -> "Listed":
        """These of them."""
        return Listed(self.learner[rows], self.sample[rows], self.response[rows])


class Part(NamedTuple):
    """The responses that are held out of a fit, or those that are not; about a tenth is."""

    seed: int
    more: int  # a second number, for another part of the same seed
    held_out: bool

    def has(self, places: Places) -> NDArray[np.bool_]:
        """Whether each place belongs to the part: by a hash of its number (splitmix64, Steele 2014)."""
        key = np.random.SeedSequence([self.seed, self.more]).generate_state(1, np.uint64)
        z = places.astype(np.uint64)
        z += np.uint64(1)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z ^= key
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z ^= z >> np.uint64(shift)
            z *= np.uint64(factor)
        z ^= z >> np.uint64(31)
        out: NDArray[np.bool_] = z < np.uint64(int(HELD_OUT * 2**64))
        return out if self.held_out else ~out


def n_places(shard: Shard) -> int:
    """How many places a shard has."""
    return int(shard.codes.size)


def listed(shard: Shard, places: Places, first: int, part: Part | None) -> Listed:
    """The responses at these ascending places of a shard; `first` is the number of its first place."""
    codes = shard.codes.reshape(-1)[places]
    dense = isinstance(shard, DenseShard)
    kept = None
    if dense:
        kept = ~np.isnan(codes) if codes.dtype == np.float32 else codes != MISSING
    if part is not None:
        in_part = part.has(places + first)
        kept = in_part if kept is None else kept & in_part
    if kept is not None:
        places, codes = places[kept], codes[kept]
    if isinstance(shard, DenseShard):
        sample, learner = np.divmod(places.astype(np.uint32), np.uint32(shard.shape[1]))
        return Listed(learner.astype(np.int32), sample.astype(np.int32), codes.astype(np.float32))
    sample = np.searchsorted(shard.starts, places, side="right") - 1
    values = codes & 1 if shard.values is None else shard.values[places]
    return Listed((codes >> 1).astype(np.int32), sample.astype(np.int32), values.astype(np.float32))


def strips(n: int, rng: np.random.Generator) -> Iterator[Places]:
    """All places below n once, some at a time: strips in random order, those of one time ascending."""
    n_strips = -(-n // STRIP)
    order = np.arange(n_strips, dtype=np.uint32 if n_strips < 2**32 else np.uint64)
    rng.shuffle(order)
    step = PLACES // STRIP
    for start in range(0, n_strips, step):
        some = np.sort(order[start : start + step]).astype(np.int64)
        places = (some[:, None] * STRIP + np.arange(STRIP)).ravel()
        yield places if places[-1] < n else places[places < n]


def joined(lists: list[Listed]) -> Listed:
    """Several lists as one."""
    return lists[0] if len(lists) == 1 else Listed(*map(np.concatenate, zip(*lists, strict=True)))


class Stream:
    """Responses of one list after the other, so many as are wanted at a time."""

    def __init__(self, lists: Iterator[Listed]) -> None:
        self.lists = lists
        self.left = Listed(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))

    def take(self, n: int) -> Listed:
        """The next n."""
        lists, count = [self.left], len(self.left.response)
        while count < n:
            lists.append(next(self.lists))
            count += len(lists[-1].response)
        responses = joined(lists)
        self.left = responses.take(slice(n, None))
        return responses.take(slice(0, n))


class ArrayKeeper(Protocol):
    """Where the state of a fit is kept, so that it goes on from there if it is killed."""

    def keep(self, arrays: dict[str, Any]) -> None:
        """Replaces the state that was kept before."""
        ...

    def kept(self) -> dict[str, Any] | None:
        """The last state of this very fit, if there is one."""
        ...

    def of(self, part: str) -> "ArrayKeeper":
        """Another one, for a fit to a part of the cells."""
        ...
