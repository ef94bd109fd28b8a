"""The JSON and Parquet routes."""

import io
from typing import Any

import msgspec
import polars as pl

from camilla.learners.compare import compare_two
from camilla.names import in_quotes
from camilla.server import accounts, boards, submissions
from camilla.server.boards import FLAGS
from camilla.server.routes import PARQUET, ApiRoute, Ask
from camilla.server.sessions import StopRule
from camilla.server.shapes import (
    Answer,
    BenchmarkInfo,
    BenchmarkList,
    BoardInfo,
    BoardList,
    Comparison,
    Diff,
    Done,
    InBenchmark,
    LeaderboardAnswer,
    LearnerAnswer,
    MadeToken,
    NewSession,
    NewToken,
    OfBoard,
    OfLearner,
    OfNumber,
    OfSample,
    OfSamples,
    OfSession,
    OfSubmissions,
    OfTwo,
    OfTwoBoards,
    ReceivedList,
    SampleAnswer,
    SampleList,
    SessionState,
    SkillList,
    SubmissionInfo,
    SubmissionList,
    TokenList,
    Withdrawal,
)
from camilla.server.store import RefusedError, Store
from camilla.server.uploads import NewSubmission, known_part, read_apart, table_of_json
from camilla.server.views import View


def viewed(ask: Ask) -> View:
    on = ask.params.on
    return ask.site.boards.view(ask.params.benchmark, None if on is None else boards.end_of_day(on))


def _board(board: boards.Board) -> dict[str, Any]:
    return {name: getattr(board, name) for name in BoardInfo.__struct_fields__}


def benchmark_infos(ask: Ask) -> dict[str, Any]:
    """Every benchmark."""
    return {"benchmarks": [_info(ask, name) for name in ask.site.boards.names()]}


def benchmark_info(ask: Ask) -> dict[str, Any]:
    """One benchmark."""
    return _info(ask, ask.params.benchmark)


def _info(ask: Ask, name: str) -> dict[str, Any]:
    view = ask.site.boards.view(name)
    one, samples = view.benchmark, view.found.sample_names
    return {
        "name": one.name, "title": one.title, "board": view.board.number, "created": one.created,
        "learners": view.rows.height, "samples": len(samples), "skills": list(view.found.skill_names),
        "diagnoser": one.diagnoser, "secret_samples": sum(map(one.hides, samples)),
        "least_share": one.least_share,
    }  # fmt: skip


def leaderboard(ask: Ask) -> dict[str, Any]:
    """The board of now, or of a day."""
    view = viewed(ask)
    return {
        "benchmark": view.benchmark.name,
        "board": _board(view.board),
        "rows": view.rows.to_dicts(),
        "ties": [[view.rows["learner"][place] for place in places] for places in view.ties],
        "interval": view.found.provenance["interval"],
    }


def leaderboard_parquet(ask: Ask) -> bytes:
    """The same rows as a Parquet file."""
    return _parquet(viewed(ask).rows)


def samples_parquet(ask: Ask) -> bytes:
    """Every sample's statistics as a Parquet file; no content."""
    return _parquet(ask.site.boards.view(ask.params.benchmark).found.samples)


def _parquet(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def learner(ask: Ask) -> dict[str, Any]:
    """A learner's row, its skills, and its history over boards."""
    view = viewed(ask)
    row = view.row(ask.params.learner)
    return {
        "row": row,
        "skills": learner_skills(ask, view, row["learner"]),
        "history": boards.history(ask.site.store, view.benchmark, row["learner"]),
    }


def learner_skills(ask: Ask, view: View, name: str) -> list[dict[str, Any]]:
    """Ability and accuracy of a learner on each skill, placed if it was not fitted."""
    if name in view.placed:
        frame = view.found.place_skills(ask.site.boards.table(view, [name]))
    else:
        frame = view.found.skills.filter(pl.col("learner") == name)
    frame = frame.select("skill", "ability", "low", "high", "accuracy", pl.col("n").cast(pl.Int64))
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None)).to_dicts()


def comparison(ask: Ask) -> dict[str, Any]:
    """Two learners on the samples both answered, as `camilla compare` decides it."""
    found = compared(ask)
    document = found.to_document()
    return {"answer": document.pop("answer"), "notes": document.pop("notes"), "details": _plain(document)}


def compared(ask: Ask) -> Any:
    """The comparison of two learners on a board."""
    view = viewed(ask)
    a, b = (view.row(name)["learner"] for name in (ask.params.a, ask.params.b))
    if a == b:
        raise RefusedError(422, f"{in_quotes(a)} cannot be compared with itself. Name two learners.")
    return compare_two(ask.site.boards.table(view, [a, b]), a, b)


def _plain(value: Any) -> Any:
    """Without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def flags_of(store: Store, board_id: int) -> dict[str, list[str]]:
    """Flagged samples of a board; none until the background has judged them."""
    with store.reading() as transaction:
        content = transaction.value(
            "SELECT content FROM board_files WHERE board_id = :id AND name = :name", id=board_id, name=FLAGS
        )
    return {} if content is None else msgspec.json.decode(content, type=dict[str, list[str]])


def sample_list(ask: Ask) -> dict[str, Any]:
    """Samples with their statistics, in the order of the benchmark."""
    view = ask.site.boards.view(ask.params.benchmark)
    return {
        "total": view.found.samples.height,
        "samples": sample_rows(ask, view, view.found.samples.slice(ask.params.offset, ask.params.limit)),
    }


def sample_rows(ask: Ask, view: View, frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Statistics and flags of samples."""
    flags = flags_of(ask.site.store, view.board.id)
    frame = frame.select("sample", "accuracy", "difficulty", "discrimination", pl.col("n").cast(pl.Int64))
    rows = frame.with_columns(pl.col(pl.Float64).fill_nan(None)).to_dicts()
    return [row | {"flags": flags.get(row["sample"], [])} for row in rows]


def sample(ask: Ask) -> dict[str, Any]:
    """A sample: statistics, who solved it, and what it asks unless that is secret."""
    view = ask.site.boards.view(ask.params.benchmark)
    name = ask.params.sample
    frame = view.found.samples.filter(pl.col("sample") == name)
    if frame.is_empty():
        raise RefusedError(404, "the benchmark has no such sample.")
    table = ask.site.boards.table(view)
    column = table.matrix()[:, table.samples.index(name)]
    hidden = view.benchmark.hides(name)
    own = ask.site.boards.own(view.benchmark)
    asked = None if hidden or own.content is None else own.content.sample(name)
    return {
        "sample": sample_rows(ask, view, frame)[0],
        "secret": hidden,
        "content": None
        if asked is None
        else {"prompt": asked.prompt, "reference": asked.reference, "choices": list(asked.choices)},
        "responses": [
            {"learner": who, "response": float(value)}
            for who, value in sorted(zip(table.learners, column.tolist(), strict=True))
            if value == value
        ],
    }


def skill_list(ask: Ask) -> dict[str, Any]:
    """Skills, with the best fitted learner on each."""
    view = ask.site.boards.view(ask.params.benchmark)
    counts = {k: len(samples) for k, samples in view.found.skill_samples()}
    on_board = view.found.skills.filter(pl.col("learner").is_in(view.rows["learner"].to_list()))
    best = on_board.sort("ability", "learner", descending=[True, False]).unique("skill", keep="first")
    rows = {row["skill"]: row for row in best.with_columns(pl.col(pl.Float64).fill_nan(None)).to_dicts()}
    return {
        "skills": [
            {
                "skill": name, "samples": counts[k], "best": rows[name]["learner"],
                "ability": rows[name]["ability"], "accuracy": rows[name]["accuracy"],
            }
            for k, name in enumerate(view.found.skill_names)
            if name in rows
        ]
    }  # fmt: skip


def board_list(ask: Ask) -> dict[str, Any]:
    """Every board of a benchmark, newest first."""
    benchmark = ask.site.boards.benchmark(ask.params.benchmark)
    return {"boards": [_board(one) for one in boards.all_boards(ask.site.store, benchmark)]}


def diff(ask: Ask) -> dict[str, Any]:
    """What changed from one board to another."""
    benchmark = ask.site.boards.benchmark(ask.params.benchmark)
    before, after = ask.params.before, ask.params.after
    rows = boards.difference(ask.site.store, benchmark, before, after)
    return {"before": before, "after": after, "rows": rows}


def submission_list(ask: Ask) -> dict[str, Any]:
    """Submissions, newest first, withdrawn ones among them."""
    benchmark = ask.site.boards.benchmark(ask.params.benchmark)
    rows = submissions.submissions(
        ask.site.store, benchmark.id, learner=ask.params.learner, before=ask.params.before,
        limit=ask.params.limit,
    )  # fmt: skip
    return {"submissions": rows}


def submission(ask: Ask) -> dict[str, Any]:
    """One submission."""
    return submissions.submission(ask.site.store, ask.params.id)


def submit(ask: Ask) -> tuple[int, dict[str, Any]]:
    """Keeps a submission, and returns the ranks of its learners."""
    target = ask.site.boards.target(ask.params.benchmark)
    samples = target.found.sample_names
    if ask.upload is not None:
        known, source = read_apart(ask.upload, samples), ask.upload.source
        target = ask.site.boards.target(ask.params.benchmark)  # reading may have taken long
    else:
        known, source = known_part(table_of_json(ask.body), samples), "json"
    accepted = submissions.accept(ask.site.store, target, ask.caller, known, source=source)
    view = ask.site.boards.view(ask.params.benchmark)
    rows = {row["submission"]: row for row in view.rows.to_dicts()}
    received = [
        {
            "submission": submissions.submission(ask.site.store, one.id),
            "new": one.new,
            "row": rows.get(one.id),
        }
        for one in accepted
    ]
    return 201 if any(one.new for one in accepted) else 200, {"received": received}


def withdraw(ask: Ask) -> dict[str, Any]:
    """Takes a submission off the board, and keeps it."""
    submissions.withdraw(ask.site.store, ask.params.id, ask.caller, ask.body.reason)
    return submissions.submission(ask.site.store, ask.params.id)


def start_session(ask: Ask) -> tuple[int, dict[str, Any]]:
    """Starts an adaptive session."""
    rule = StopRule(ask.body.budget, ask.body.score_se, ask.body.ability_se)
    sessions = ask.site.sessions
    number = sessions.start(ask.params.benchmark, ask.caller, ask.body.learner, rule)
    return 201, sessions.state(sessions.session(number, ask.caller))


def session(ask: Ask) -> dict[str, Any]:
    """Where a session stands."""
    return ask.site.sessions.state(ask.site.sessions.session(ask.params.id, ask.caller))


def answer(ask: Ask) -> dict[str, Any]:
    """Records a response; the answer has the next sample."""
    one = ask.body
    return ask.site.sessions.answer(ask.params.id, ask.caller, one.sample, one.response, one.trials)


def finish(ask: Ask) -> dict[str, Any]:
    """Submits what a session has collected."""
    sessions = ask.site.sessions
    sessions.finish(ask.params.id, ask.caller)
    return sessions.state(sessions.session(ask.params.id, ask.caller))


def token_list(ask: Ask) -> dict[str, Any]:
    """Every token, without secrets."""
    return {"tokens": accounts.tokens(ask.site.store)}


def add_token(ask: Ask) -> tuple[int, dict[str, Any]]:
    """Makes a token, which is shown in this answer only."""
    made = accounts.add_token(ask.site.store, ask.body.account, ask.body.role, days=ask.body.days)
    return 201, {"id": made.id, "token": made.secret}


def revoke_token(ask: Ask) -> dict[str, Any]:
    """Ends a token."""
    accounts.revoke_token(ask.site.store, ask.params.id)
    return {"done": True}


OF = "/api/benchmarks/{benchmark}"
READING = (404, 422)
READ_ROUTES = (
    ApiRoute("GET", "/api/benchmarks", benchmark_infos, BenchmarkList, "All benchmarks"),
    ApiRoute("GET", OF, benchmark_info, BenchmarkInfo, "One benchmark", InBenchmark, refuses=(404,),
             cached=True),
    ApiRoute("GET", f"{OF}/leaderboard", leaderboard, LeaderboardAnswer, "The current board, or of a day",
             OfBoard, refuses=READING, cached=True),
    ApiRoute("GET", f"{OF}/leaderboard.parquet", leaderboard_parquet, None, "The board as Parquet", OfBoard,
             refuses=READING, media=PARQUET, cached=True),
    ApiRoute("GET", f"{OF}/learner", learner, LearnerAnswer, "A learner, its skills and its history",
             OfLearner, refuses=READING, cached=True),
    ApiRoute("GET", f"{OF}/compare", comparison, Comparison, "Two learners on shared samples", OfTwo,
             refuses=READING, cached=True),
    ApiRoute("GET", f"{OF}/samples", sample_list, SampleList, "Samples with their statistics", OfSamples,
             refuses=(404,)),
    ApiRoute("GET", f"{OF}/samples.parquet", samples_parquet, None, "Samples as Parquet", InBenchmark,
             refuses=(404,), media=PARQUET, cached=True),
    ApiRoute("GET", f"{OF}/sample", sample, SampleAnswer, "A sample and who solved it", OfSample,
             refuses=(404,)),
    ApiRoute("GET", f"{OF}/skills", skill_list, SkillList, "Skills and their best learners", InBenchmark,
             refuses=(404,), cached=True),
    ApiRoute("GET", f"{OF}/boards", board_list, BoardList, "All boards, newest first", InBenchmark,
             refuses=(404,), cached=True),
    ApiRoute("GET", f"{OF}/diff", diff, Diff, "What changed between two boards", OfTwoBoards, refuses=(404,),
             cached=True),
    ApiRoute("GET", f"{OF}/submissions", submission_list, SubmissionList, "Submissions, newest first",
             OfSubmissions, refuses=(404,), cached=True),
    ApiRoute("GET", "/api/submissions/{id}", submission, SubmissionInfo, "One submission", OfNumber,
             refuses=(404,)),
)  # fmt: skip
WRITE_ROUTES = (
    ApiRoute("POST", f"{OF}/submissions", submit, ReceivedList, "Submit learners", InBenchmark,
             NewSubmission, takes_file=True, role="submitter", status=201, refuses=(404, 409, 415, 422)),
    ApiRoute("POST", "/api/submissions/{id}/withdraw", withdraw, SubmissionInfo, "Withdraw a submission",
             OfNumber, Withdrawal, role="submitter", refuses=(404, 415)),
    ApiRoute("POST", f"{OF}/sessions", start_session, SessionState, "Start an adaptive session", InBenchmark,
             NewSession, role="submitter", status=201, refuses=(404, 409, 415, 422)),
    ApiRoute("GET", "/api/sessions/{id}", session, SessionState, "State of a session", OfSession,
             role="submitter", refuses=(404,)),
    ApiRoute("POST", "/api/sessions/{id}/answers", answer, SessionState, "Record a response", OfSession,
             Answer, role="submitter", refuses=(404, 409, 415, 422)),
    ApiRoute("POST", "/api/sessions/{id}/finish", finish, SessionState, "Submit a session's responses",
             OfSession, role="submitter", refuses=(404, 409, 422)),
    ApiRoute("GET", "/api/tokens", token_list, TokenList, "All tokens, without secrets", role="owner"),
    ApiRoute("POST", "/api/tokens", add_token, MadeToken, "Make a token", body=NewToken, role="owner",
             status=201, refuses=(415, 422)),
    ApiRoute("DELETE", "/api/tokens/{id}", revoke_token, Done, "Revoke a token", OfNumber, role="owner",
             refuses=(404,)),
)  # fmt: skip
