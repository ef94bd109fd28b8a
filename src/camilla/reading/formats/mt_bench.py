"""MT-Bench: `model_judgment/<judge>_single.jsonl`, a judge's rating from 1 to 10 of each answer of each turn.

The response is (rating − 1) / 9, and the metric is named after the judge. A rating of −1 says that the judge
gave none: missing. A sample is a turn of a question; the turns of a question are one conversation, so one
cluster. Categories are in `question.jsonl` one folder up; without it, those of MT-Bench's own 80 questions.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.reading.decoding import decode_lines, digest, name_in, number_in, plain, shortened
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

BENCH = "mt_bench"
LOWEST, HIGHEST = 1.0, 10.0
NO_RATING = -1.0
API_ERROR = "$ERROR$"
CATEGORIES = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
FIRST_QUESTION, OF_CATEGORY = 81, 10
QUESTION, NEXT = "[Question]\n", "\n\n[The Start of "
ANSWER, ANSWERED = "[The Start of Assistant's Answer]\n", "\n[The End of Assistant's Answer]"
REFERENCE, REFERRED = "[The Start of Reference Answer]\n", "\n[The End of Reference Answer]"
CONVERSATION = "<|The Start of "
USER, ASSISTANT, END = "### User:\n", "\n\n### Assistant A:\n", "\n\n<|The End of Assistant A"
REFERENCES, LAST_REFERENCE = "<|The End of Reference Answer|>", "### Reference answer:\n"


class Judgment(msgspec.Struct):
    question_id: Any
    model: Any
    score: Any
    judge: Any = None
    turn: Any = 1
    user_prompt: Any = ""
    judgment: Any = ""
    tstamp: Any = None


class Question(msgspec.Struct):
    question_id: Any
    category: Any = ""


JUDGMENT = msgspec.json.Decoder(Judgment)
QUESTIONS = msgspec.json.Decoder(Question)


class Shown(NamedTuple):
    """What the judge was shown of a turn; "" where its prompt is not one of MT-Bench's."""

    prompt: str
    answer: str
    reference: str
    first: str  # question of the conversation, which no answer can be taken for


class Judged(NamedTuple):
    """A judgment with the names of what it is of."""

    sample: str
    question: str
    metric: str
    trial: int
    line: Judgment
    shown: Shown


def runs(path: Path) -> Iterator[Run]:
    """A run for each model; a judge again on the same turn is another trial."""
    folder = path.resolve().parent
    task = folder.parent.name if folder.name == "model_judgment" and folder.parent.name else BENCH
    models: dict[str, list[Judged]] = {}
    trials: dict[tuple[str, str, str], int] = {}
    for number, one in decode_lines(path, JUDGMENT):
        where = f"{path}: line {number}"
        model = name_in(one.model, where=where, what="model")
        question = name_in(one.question_id, where=where, what="question_id")
        turn = name_in(one.turn, where=where, what="turn")
        sample, metric = f"{question} turn {turn}", f"rating by {_judge(one.judge)}"
        trial = trials.get((model, sample, metric), 0)
        trials[model, sample, metric] = trial + 1
        models.setdefault(model, []).append(Judged(sample, question, metric, trial, one, _shown(one)))
    categories = _categories(folder.parent / "question.jsonl", task)
    for model, judged in models.items():
        yield _run(model, task, judged, path, categories)


def _run(model: str, task: str, judged: list[Judged], path: Path, categories: Mapping[str, str]) -> Run:
    left_out: dict[str, str] = {}
    rows = [_row(one, left_out) for one in judged]
    metrics = dict.fromkeys(one.metric for one in judged)
    several_turns = len({one.sample for one in judged}) > len({one.question for one in judged})
    about: dict[str, About] = {}
    for one in judged:
        category = categories.get(one.question, "")
        skills = (("category", category),) if category else ()
        cluster = f"{task} question {one.question}" if several_turns else None
        about.setdefault(one.sample, About(shortened(one.shown.prompt), skills, cluster))
    return Run(
        model,
        task,
        [row for row in rows if row.metric not in left_out],
        source=str(path),
        format="mt-bench",
        run=str(path.resolve().parent),  # the files of several judges are parts of one run
        date=max((_date(one.line.tstamp) for one in judged), default=""),
        about=about,
        settings={"scale": f"{LOWEST:g}:{HIGHEST:g}"},
        left_out=left_out,
        main=next(iter(metrics)) if len(metrics) == 1 else "",
        content=lambda: _content(judged),
    )


def _row(one: Judged, left_out: dict[str, str]) -> Row:
    content = digest(one.shown.first) if one.shown.first else None
    rating = number_in(one.line.score)
    if rating is None or rating == NO_RATING:
        why = "errored" if one.line.judgment == API_ERROR else "unscored"
        return Row(one.sample, None, one.metric, "", one.trial, content, why)  # type: ignore[arg-type]
    if not LOWEST <= rating <= HIGHEST:
        left_out[one.metric] = f"a rating outside {LOWEST:g} to {HIGHEST:g}"
    return Row(one.sample, (rating - LOWEST) / (HIGHEST - LOWEST), one.metric, "", one.trial, content)


def _judge(judge: Any) -> str:
    """The model that judged; which of its prompts it was given depends on the category and the turn."""
    if isinstance(judge, list):
        judge = judge[0] if judge else None
    return plain(judge) or "an unnamed judge"


def _date(stamp: Any) -> str:
    seconds = number_in(stamp)
    if seconds is None or not 0 < seconds < 1e11:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _categories(path: Path, task: str) -> dict[str, str]:
    if path.is_file():
        return {plain(one.question_id): plain(one.category) for _, one in decode_lines(path, QUESTIONS)}
    if task != BENCH:
        return {}
    last = FIRST_QUESTION + OF_CATEGORY * len(CATEGORIES)
    return {str(at): CATEGORIES[(at - FIRST_QUESTION) // OF_CATEGORY] for at in range(FIRST_QUESTION, last)}


def _shown(one: Judgment) -> Shown:
    """The question, the answer and the reference of the turn that was judged, from the judge's prompt."""
    text = one.user_prompt if isinstance(one.user_prompt, str) else ""
    if not text.startswith(CONVERSATION):
        question = text.partition(QUESTION)[2].partition(NEXT)[0]
        answer = text.partition(ANSWER)[2].rpartition(ANSWERED)[0]
        return Shown(question, answer, text.partition(REFERENCE)[2].partition(REFERRED)[0], question)
    references, has_reference, conversation = text.rpartition(REFERENCES)
    first = conversation.partition(USER)[2].partition(ASSISTANT)[0]
    question, _, rest = conversation.rpartition(USER)[2].partition(ASSISTANT)
    last = references.rpartition(LAST_REFERENCE)[2] if has_reference else ""
    return Shown(question, rest.rpartition(END)[0], last.strip(), first)


def _content(judged: list[Judged]) -> Content:
    asked = {one.sample: Asked(one.shown.prompt, one.shown.reference) for one in judged}
    answers = [
        Answered(
            one.sample,
            one.trial,
            one.shown.answer,
            one.line.judgment if isinstance(one.line.judgment, str) else "",
        )
        for one in judged
    ]
    return Content(asked, answers)
