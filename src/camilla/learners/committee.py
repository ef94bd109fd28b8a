"""A committee: members, the weight of each vote, what they answer together; saved as a small JSON file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import polars as pl

from camilla.display import Grid, Part, Printable, counted
from camilla.errors import DataError, SettingError
from camilla.learners.decision_files import COMMITTEE
from camilla.learners.votes import SAME
from camilla.names import in_quotes, nearest, quoted, repeated
from camilla.table.columns import Origin, answer_column, name_column
from camilla.table.frame_files import called, read_frame
from camilla.table.frames import as_polars
from camilla.table.responses import ResponseTable

IN_WORDS = {
    "majority": "one vote each",
    "log-odds": "votes weighted by log-odds of accuracy",
    "learned": "votes with learned weights",
}


class _Member(msgspec.Struct):
    learner: str
    weight: float


class _Saved(msgspec.Struct):
    """What the file holds; what else stands there is kept for readers."""

    format: str
    version: int
    vote: str
    members: list[_Member]
    facts: dict[str, Any] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Committee(Printable):
    """Learners that answer together: the answer with the most votes wins.

    A tie goes to the answer of the member that is listed first. A member without an answer abstains.

    Parameters
    ----------
    members : tuple of str
        Names of the learners.
    weights : tuple of float
        The weight of each member's vote.
    vote : str
        How the weights were chosen: "majority", "log-odds" or "learned".
    facts : mapping
        Expected accuracy, and what the committee was chosen from.

    Examples
    --------
    >>> committee = camilla.Committee(("a", "b", "c"), (1.0, 1.0, 1.5))
    >>> committee.answer({"a": "cat", "b": "cat", "c": "dog"})
    'cat'
    """

    members: tuple[str, ...]
    weights: tuple[float, ...]
    vote: str = "majority"  # how the weights came about: majority, log-odds, learned
    facts: Mapping[str, Any] = field(default_factory=dict)  # expected accuracy, and what it was made of

    def __post_init__(self) -> None:
        if not self.members or len(self.members) != len(self.weights):
            raise SettingError(
                f"a committee has one weight per member; got {len(self.members)} members and "
                f"{len(self.weights)} weights."
            )
        if twice := repeated(self.members):
            raise SettingError(f"a committee has each member once; {quoted(twice)} is given more than once.")
        wrong = [weight for weight in self.weights if not 0 <= weight < np.inf]
        if wrong or not any(self.weights):
            raise SettingError(
                "the weights of a committee are numbers from 0 on, not all of them 0; "
                f"{'all are 0' if not wrong else f'got {in_quotes(wrong[0])}'}."
            )

    def parts(self) -> list[Part]:
        """Returns the members and their weights, as `text` prints them.

        Returns
        -------
        list
            What is printed, one table.

        Examples
        --------
        >>> grid = camilla.Committee(("a", "b"), (1.0, 0.5)).parts()[0]
        >>> grid.title
        'Committee of 2 learners, one vote each'
        """
        frame = pl.DataFrame({"learner": self.members, "weight": self.weights})
        how = IN_WORDS.get(self.vote, self.vote)
        return [Grid(f"Committee of {counted(len(self.members), 'learner')}, {how}", frame)]

    def answer(self, answers: Mapping[str, Any]) -> str | None:
        """Returns the committee's answer to one sample.

        Parameters
        ----------
        answers : mapping
            {learner: its answer}; None or a missing member is an abstention.

        Returns
        -------
        str or None
            The answer with the most votes, None where no member answers.

        Examples
        --------
        >>> camilla.Committee(("a", "b"), (1.0, 0.5)).answer({"b": 7, "a": None})
        '7'
        """
        votes: dict[str, float] = {}
        for learner, weight in zip(self.members, self.weights, strict=True):
            given = answers.get(learner)
            if given is not None and given == given:
                text = _text(given)
                votes[text] = votes.get(text, 0.0) + weight
        most = max(votes.values(), default=0.0)
        return next((text for text, total in votes.items() if total >= most - SAME), None)

    def apply(
        self, answers: Any, *, learner: str = "learner", sample: str = "sample", answer: str = "answer"
    ) -> pl.DataFrame:
        """Returns the committee's answer to every sample.

        Parameters
        ----------
        answers : dataframe, path, dict or ResponseTable
            One row per answer, with columns of the learner, the sample and the answer; or one column per
            learner, with or without a column of the sample; or {learner: list of answers}.
        learner, sample, answer : str
            What these columns are called.

        Returns
        -------
        polars.DataFrame
            `sample`, `answer`, `share` of the votes cast for it, `voters` (members that answered). Samples
            that no member answered have no answer.

        Raises
        ------
        DataError
            A member has no answer at all, or two answers to one sample.

        Examples
        --------
        >>> committee = camilla.Committee(("a", "b", "c"), (1.0, 1.0, 1.0))
        >>> committee.apply({"a": ["x", "y"], "b": ["x", "z"], "c": ["y", "z"]})["answer"].to_list()
        ['x', 'z']
        """
        rows = _long(answers, learner, sample, answer, self.members)
        known = set(rows["learner"])
        if not known:
            raise DataError("the answers contain no sample; expected answers of the members to at least one.")
        if absent := [name for name in self.members if name not in known]:
            raise DataError(
                f"{counted(len(absent), 'member')} of the committee gave no answer: {quoted(absent)}. "
                f"{nearest(absent[0], sorted(known))} The names of learners must be those of the committee."
            )
        place = {name: number for number, name in enumerate(self.members)}
        samples = rows["sample"].unique(maintain_order=True)
        votes = rows.filter(pl.col("learner").is_in(self.members)).drop_nulls("answer").with_columns(
            place=pl.col("learner").replace_strict(place, return_dtype=pl.Int64),
            weight=pl.col("learner").replace_strict(
                dict(zip(self.members, self.weights, strict=True)), return_dtype=pl.Float64
            ),
        )  # fmt: skip
        twice = votes.filter(votes.select("learner", "sample").is_duplicated())
        if twice.height:
            raise DataError(
                f"learner {in_quotes(twice['learner'][0])} has two answers to sample "
                f"{in_quotes(twice['sample'][0])}; a member votes once. Keep one of them."
            )
        totals = votes.group_by("sample", "answer").agg(pl.col("weight").sum(), pl.col("place").min())
        cast = votes.group_by("sample").agg(cast=pl.col("weight").sum(), voters=pl.len().cast(pl.Int64))
        winners = (
            totals.filter(pl.col("weight") >= pl.col("weight").max().over("sample") - SAME)
            .sort("sample", "place")
            .unique("sample", keep="first", maintain_order=True)
            .join(cast, on="sample")
        )
        share = pl.when(pl.col("cast") > 0).then(pl.col("weight") / pl.col("cast"))
        found = pl.DataFrame({"sample": samples}).join(
            winners, on="sample", how="left", maintain_order="left"
        )
        return found.select("sample", "answer", share=share, voters=pl.col("voters").fill_null(0))

    def to_document(self) -> dict[str, Any]:
        """The content of the file.

        Returns
        -------
        dict
            Plain data, ready for JSON.

        Examples
        --------
        >>> camilla.Committee(("a", "b"), (1.0, 0.5)).to_document()["members"]
        [{'learner': 'a', 'weight': 1.0}, {'learner': 'b', 'weight': 0.5}]
        """
        members = [
            {"learner": name, "weight": float(weight)}
            for name, weight in zip(self.members, self.weights, strict=True)
        ]
        head = {"format": COMMITTEE.format, "version": COMMITTEE.version}
        return head | {"vote": self.vote, "members": members, "facts": dict(self.facts)}

    def save(self, path: str | Path) -> Path:
        """Writes the committee as JSON; the file is written completely or not at all.

        Parameters
        ----------
        path : str or Path
            A file that ends in .json.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        SettingError
            The name does not end in .json.

        Examples
        --------
        >>> camilla.Committee(("a", "b"), (1.0, 0.5)).save("committee.json").name
        'committee.json'
        """
        return COMMITTEE.write(path, self.to_document())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a committee back; a damaged or newer file is refused.

        Parameters
        ----------
        path : str or Path
            A file that `save` or `camilla ensemble -o` wrote.

        Returns
        -------
        Committee
            The committee as it was saved.

        Raises
        ------
        FormatError
            The file is not a committee, or one of a newer version.

        Examples
        --------
        >>> path = camilla.Committee(("a", "b"), (1.0, 0.5)).save("committee.json")
        >>> camilla.Committee.load(path).members
        ('a', 'b')
        """
        return COMMITTEE.read(path, _Saved, cls._restored)

    @classmethod
    def _restored(cls, saved: _Saved) -> Self:
        members = tuple(one.learner for one in saved.members)
        return cls(members, tuple(one.weight for one in saved.members), saved.vote, saved.facts)


def _text(given: Any) -> str:
    """An answer as a table writes it: 7 for 7.0, true for True."""
    if isinstance(given, bool | np.bool_):
        return str(given).lower()
    return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)


def _long(answers: Any, learner: str, sample: str, answer: str, members: tuple[str, ...]) -> pl.DataFrame:
    """learner, sample, answer of whatever came, all as text."""
    if isinstance(answers, ResponseTable):
        said = answers.short_answers()
        if said is None:
            raise DataError("the table contains no answers, only responses; a committee votes on answers.")
        return answers.to_long().select("learner", "sample").with_columns(answer=said)
    origin = Origin("the answers")
    if isinstance(answers, str | Path):
        origin, answers = Origin(called(answers)), read_frame(answers, text=True)
    elif isinstance(answers, Mapping):
        answers = _columns_of(answers)
    frame = as_polars(answers)
    if all(name in frame.columns for name in (learner, sample, answer)):
        return _named(frame, learner, sample, origin).with_columns(answer_column(frame, answer, origin))
    present = [name for name in members if name in frame.columns]
    if not present:
        raise DataError(
            f"{origin.name}: has neither the columns {learner!r}, {sample!r} and {answer!r} nor one column "
            f"per member; it has {quoted(frame.columns)}, and the members are {quoted(members)}."
        )
    rows = frame.height
    names = (
        name_column(frame, sample, origin).column("sample")
        if sample in frame.columns
        else pl.Series("sample", [str(number + 1) for number in range(rows)])
    )
    parts = [
        pl.DataFrame({"learner": pl.Series([name] * rows, dtype=pl.String), "sample": names}).with_columns(
            answer_column(frame, name, origin)
        )
        for name in present
    ]
    return pl.concat(parts)


def _named(frame: pl.DataFrame, learner: str, sample: str, origin: Origin) -> pl.DataFrame:
    columns = {"learner": learner, "sample": sample}
    return pl.DataFrame([name_column(frame, column, origin).column(name) for name, column in columns.items()])


def _columns_of(answers: Mapping[Any, Any]) -> pl.DataFrame:
    lengths = {str(name): len(column) for name, column in answers.items()}
    if len(set(lengths.values())) > 1:
        fewest, most = min(lengths, key=lambda one: lengths[one]), max(lengths, key=lambda one: lengths[one])
        raise DataError(
            f"{fewest!r} has {counted(lengths[fewest], 'answer')} and {most!r} has {lengths[most]}; "
            "expected one answer per sample, None where there is none."
        )
    return pl.DataFrame({str(name): list(column) for name, column in answers.items()}, strict=False)
