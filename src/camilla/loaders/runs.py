"""What every loader hands over: runs of one learner on one task, and the rows in them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from camilla.loaders.peeking import Peek

if TYPE_CHECKING:
    import polars as pl

    from camilla.data.skill_graph import SkillGraph
    from camilla.data.skills import SkillMap

Why = Literal["unscored", "errored", "truncated"]


GIVEN = "response"


class Row(NamedTuple):
    """One score of one sample under one metric and filter; `why` says what went wrong with it, if anything.

    A score is in [0, 1] or missing, and missing is never 0. `content` is a hash of what the sample asks,
    so that two runs that mean different things by one name are not joined. The metric GIVEN is a response
    that was chosen before, as tables hold it; it stands beside whatever metric its task is scored by.
    """

    sample: str
    score: float | None
    metric: str = "score"
    filter: str = ""
    trial: int = 0
    content: str | None = None
    why: Why | None = None
    weight: float | None = None  # 1 when not given


class About(NamedTuple):
    """What a log says of a sample beside scores: the start of its text, and values that may name skills."""

    text: str = ""
    skills: tuple[tuple[str, str], ...] = ()  # (kind, value): ("subject", "physics")
    cluster: str | None = None


class Skills(NamedTuple):
    """The skill map that a table brings along, its rows in the order of `samples`, and its graph if any."""

    samples: tuple[str, ...]
    skill_map: "SkillMap"
    skill_graph: "SkillGraph | None"


@dataclass(frozen=True)
class Run:
    """One learner on one task as one log tells it.

    Files that share a `run` are parts of one run; runs of the same learner and task that do not are
    repetitions, of which the newest by `date` is kept. `left_out` says which metrics of the log are no
    scores, and why.
    """

    learner: str
    task: str
    rows: list[Row]
    source: str
    format: str
    run: str = ""
    date: str = ""  # sorts by age
    version: str = ""  # of the task
    about: Mapping[str, About] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)  # of the learner
    left_out: dict[str, str] = field(default_factory=dict)  # metric → why it is no score
    named_by_task: bool = True  # whether sample names are only unique within the task
    unstable_ids: bool = False  # whether a sample is known by its content alone
    skills: Skills | None = None  # of all samples of the file, as the file names them
    rest_is_wrong: bool = False  # whether samples of the benchmark that the log does not name were failed


class Sniffed(NamedTuple):
    """How sure a loader is that a file is its own, from 0 to 1, and what it saw.

    `companion` files belong to the format but are read with the file beside them.
    """

    confidence: float
    reason: str
    companion: bool = False


class Loader(NamedTuple):
    """A format: how to know it, and how to read one file of it."""

    sniff: Callable[[Peek], Sniffed | None]
    runs: Callable[[Path], Iterable[Run]]
    matches: "Callable[[Path], pl.DataFrame] | None" = None  # player_a, player_b, winner or probability
