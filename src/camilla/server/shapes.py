"""What the routes take and answer, as types that check requests and describe themselves."""

from typing import Annotated, Any

import msgspec

from camilla.server.accounts import MOST_DAYS, Role
from camilla.server.routes import Number, Params
from camilla.server.uploads import Name, Share

Limit = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class InBenchmark(Params, frozen=True):
    benchmark: Name


class OfBoard(InBenchmark, frozen=True):
    on: Name | None = None


class OfLearner(OfBoard, frozen=True, kw_only=True):
    learner: Name


class OfTwo(OfBoard, frozen=True, kw_only=True):
    a: Name
    b: Name


class OfSamples(InBenchmark, frozen=True):
    offset: Offset = 0
    limit: Limit = 100


class OfSample(InBenchmark, frozen=True, kw_only=True):
    sample: Name


class OfTwoBoards(InBenchmark, frozen=True, kw_only=True):
    before: Number
    after: Number


class OfSubmissions(InBenchmark, frozen=True):
    learner: Name | None = None
    before: Number | None = None
    limit: Limit = 100


class OfNumber(Params, frozen=True, kw_only=True):
    id: Number


class OfSession(Params, frozen=True, kw_only=True):
    id: Name


class BenchmarkInfo(msgspec.Struct):
    """A benchmark and its newest board."""

    name: str
    title: str
    board: int
    created: str
    learners: int
    samples: int
    skills: list[str]
    diagnoser: str
    secret_samples: int
    least_share: float  # of the samples, that a submission must answer


class BenchmarkList(msgspec.Struct):
    benchmarks: list[BenchmarkInfo]


class BoardInfo(msgspec.Struct):
    """A board: when it was made and of how many submissions; the hash names them."""

    number: int
    created: str
    n_submissions: int
    submissions_hash: str
    seconds: float


class BoardList(msgspec.Struct):
    boards: list[BoardInfo]


class Row(msgspec.Struct):
    """A learner on a board and its `n` responses; `state` is fitted, or placed until the next fit."""

    rank: int
    rank_low: int | None
    rank_high: int | None
    learner: str
    ability: float
    se: float | None
    low: float | None
    high: float | None
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    n: int
    state: str
    submission: int | None
    account: str | None


class LeaderboardAnswer(msgspec.Struct):
    benchmark: str
    board: BoardInfo
    rows: list[Row]
    ties: list[list[str]]  # sets of learners of which no two are told apart
    interval: str


class SkillRow(msgspec.Struct):
    skill: str
    ability: float | None
    low: float | None
    high: float | None
    accuracy: float | None
    n: int | None


class PastRow(msgspec.Struct):
    """A learner on an earlier board."""

    board: int
    created: str
    rank: int
    rank_low: int | None
    rank_high: int | None
    ability: float
    low: float | None
    high: float | None
    accuracy: float | None
    n: int


class LearnerAnswer(msgspec.Struct):
    row: Row
    skills: list[SkillRow]
    history: list[PastRow]


class Comparison(msgspec.Struct):
    """What `camilla compare` says of two learners."""

    answer: str
    notes: list[str]
    details: dict[str, Any]


class SampleRow(msgspec.Struct):
    sample: str
    accuracy: float | None
    difficulty: float | None
    discrimination: float | None
    n: int
    flags: list[str]


class SampleList(msgspec.Struct):
    total: int
    samples: list[SampleRow]


class LearnerResponse(msgspec.Struct):
    learner: str
    response: float


class Asked(msgspec.Struct):
    """What a sample asks."""

    prompt: str
    reference: str
    choices: list[str]


class SampleAnswer(msgspec.Struct):
    """A sample; `secret` ones have no content here."""

    sample: SampleRow
    secret: bool
    content: Asked | None
    responses: list[LearnerResponse]


class SkillSummary(msgspec.Struct):
    skill: str
    samples: int
    best: str
    ability: float | None
    accuracy: float | None


class SkillList(msgspec.Struct):
    skills: list[SkillSummary]


class DiffRow(msgspec.Struct):
    """A learner on two boards; null where it is not on one of them."""

    learner: str
    rank_before: int | None
    rank_after: int | None
    ability_before: float | None
    ability_after: float | None
    low_before: float | None
    low_after: float | None
    high_before: float | None
    high_after: float | None


class Diff(msgspec.Struct):
    before: int
    after: int
    rows: list[DiffRow]


class SubmissionInfo(msgspec.Struct):
    """A submission: who, when, what, and the board it was placed on first."""

    id: int
    benchmark: str
    account: str
    learner: str
    created: str
    digest: str
    n_responses: int
    n_unknown: int
    source: str
    board: int
    withdrawn: str | None
    withdrawn_by: str | None
    reason: str | None


class SubmissionList(msgspec.Struct):
    submissions: list[SubmissionInfo]


class Received(msgspec.Struct):
    """A submission that is safe, and where its learner stands."""

    submission: SubmissionInfo
    new: bool
    row: Row | None


class ReceivedList(msgspec.Struct):
    received: list[Received]


class Withdrawal(msgspec.Struct, forbid_unknown_fields=True):
    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""


class NewSession(msgspec.Struct, forbid_unknown_fields=True):
    """Which learner is tested, and when the session is over."""

    learner: Name
    budget: Annotated[int, msgspec.Meta(ge=1, le=10**6)] | None = None
    score_se: Annotated[float, msgspec.Meta(gt=0, le=10)] | None = None
    ability_se: Annotated[float, msgspec.Meta(gt=0, le=100)] | None = None


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    """What the learner scored on a sample; null: it could not be run."""

    sample: Name
    response: Share | None
    trials: Annotated[int, msgspec.Meta(ge=1, le=10**6)] = 1


class SessionState(msgspec.Struct):
    """Where a session stands: calibrating, open, done or submitted."""

    id: str
    benchmark: str
    board: int
    learner: str
    created: str
    submission: int | None
    state: str
    next: str | None = None
    asked: int = 0
    left_out: int = 0
    score: float | None = None
    score_se: float | None = None
    ability: float | None = None
    ability_se: float | None = None
    accuracy: float | None = None


class TokenInfo(msgspec.Struct):
    id: int
    account: str
    role: str
    created: str
    expires: str | None
    revoked: str | None


class TokenList(msgspec.Struct):
    tokens: list[TokenInfo]


class NewToken(msgspec.Struct, forbid_unknown_fields=True):
    account: Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[!-~]+( [!-~]+)*$")]
    role: Role
    days: Annotated[int, msgspec.Meta(ge=1, le=MOST_DAYS)] | None = None


class MadeToken(msgspec.Struct):
    """A token, shown this once."""

    id: int
    token: str


class Done(msgspec.Struct):
    done: bool = True
