"""Shards on a Ray cluster: each actor keeps some of them with the factors of their samples; learners travel.

An actor reads its shards from the folder, which every machine must see under the same path. One that is lost
is replaced, its shards are read again, and the fit goes back to the last state kept: it ends where it would
have ended.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from camilla.arrays import Floats
from camilla.errors import SettingError
from camilla.extras import needing
from camilla.fitting.alternating import SETTLED, LearnerSums, Move, SampleState, SampleSums, WorkerLostError
from camilla.fitting.factors import Bilinear
from camilla.fitting.shards import Held, Threads, added
from camilla.parallel import cluster, processes_of
from camilla.table.shards import ShardFolder, open_shards

with needing("fitting on a cluster"):
    import ray
    from ray.exceptions import RayActorError, RaySystemError

MOST_REPLACED = 20  # actors: a cluster that loses more of them has another trouble


class _Actor:
    """Some shards of a folder."""

    def __init__(self, folder: str, numbers: Sequence[int], digest: str) -> None:
        from pathlib import Path

        opened = open_shards(Path(folder))
        if opened is None or opened.digest != digest:
            raise SettingError(
                f"{folder}: a worker of the cluster cannot find the shards there. Put them on a disk that "
                "every machine of the cluster has under the same path, with --shards."
            )
        self.held = [Held(opened.shards[number]) for number in numbers]

    def start(self, problem: Bilinear, parts: Sequence[tuple[Any, SampleState | None]]) -> None:
        for held, (free, state) in zip(self.held, parts, strict=True):
            held.start(problem, free, state)

    def sweep(self, ability: Floats, move: Move | None) -> tuple[LearnerSums, SampleSums]:
        return added(Threads.over(lambda k: self.held[k].sweep(ability, move), len(self.held), 1))

    def states(self) -> list[SampleState]:
        return [held.state for held in self.held]

    def process(self) -> int:
        return os.getpid()


class RayWorkers:
    """The shards of a folder on the actors of a Ray cluster."""

    settled = SETTLED

    def __init__(self, folder: ShardFolder, *, jobs: int = -1) -> None:
        """On the cluster that `parallel` would take, no more workers than it has cores."""
        self.folder, self.n_learners = folder, len(folder.learners)
        with ExitStack() as joined:
            joined.enter_context(cluster())
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            n = min(
                processes_of(jobs, cores), cores, len(folder.shards)
            )  # more would wait for a core for ever
            self.numbers = [part.tolist() for part in np.array_split(np.arange(len(folder.shards)), n)]
            self.replaced = 0
            self.actors = [self._actor(part) for part in self.numbers]
            self.cluster = joined.pop_all()

    def _actor(self, numbers: Sequence[int]) -> Any:
        kind = ray.remote(num_cpus=1)(_Actor)
        return kind.remote(str(self.folder.path.resolve()), numbers, self.folder.digest)

    def start(self, problem: Bilinear, ability: Floats, states: Sequence[SampleState] | None) -> None:
        ends = np.cumsum([0] + [shard.shape[0] for shard in self.folder.shards])
        small = ray.put(problem._replace(free=problem.free[:1]))

        def begin(actor: Any, numbers: Sequence[int]) -> Any:
            parts = [
                (problem.free[ends[k] : ends[k + 1]], None if states is None else states[k]) for k in numbers
            ]
            return actor.start.remote(small, parts)

        self._ask(begin)

    def sweep(self, ability: Floats, move: Move | None) -> tuple[LearnerSums, SampleSums]:
        sent = ray.put(ability)
        return added(self._ask(lambda actor, _: actor.sweep.remote(sent, move)))

    def states(self) -> tuple[SampleState, ...]:
        return tuple(state for part in self._ask(lambda actor, _: actor.states.remote()) for state in part)

    def processes(self) -> list[int]:
        """The process of each actor, on its own machine."""
        return self._ask(lambda actor, _: actor.process.remote())

    def close(self) -> None:
        """Lets the actors go, and the cluster if it was started here."""
        for actor in self.actors:
            ray.kill(actor)
        self.cluster.close()

    def _ask(self, question: Callable[[Any, Sequence[int]], Any]) -> list[Any]:
        """What every actor answers, in their order; those that are lost are replaced first."""
        asked = [question(actor, part) for actor, part in zip(self.actors, self.numbers, strict=True)]
        answers, lost = [], []
        for place, pending in enumerate(asked):
            try:
                answers.append(ray.get(pending))
            except (RayActorError, RaySystemError) as error:
                if isinstance(error.__cause__, SettingError):
                    raise error.__cause__ from None
                lost.append(place)
        if not lost:
            return answers
        self.replaced += len(lost)
        if self.replaced > MOST_REPLACED:
            raise SettingError(
                f"{self.replaced} workers of the cluster were lost. Check its logs; if a worker runs out of "
                "memory, use more machines."
            )
        for place in lost:
            self.actors[place] = self._actor(self.numbers[place])
        raise WorkerLostError(f"{len(lost)} of {len(self.actors)} workers lost and replaced")
