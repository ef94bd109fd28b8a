"""The result of `items`: the samples, in words and as data, and what the broken ones do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from camilla.display import Grid, Part, Printable, brief, counted, intervals, listed, percent
from camilla.errors import DataError
from camilla.names import name_index
from camilla.samples.corrected import Effect, effect, write_corrected
from camilla.samples.sample_flags import (
    FAULTY,
)
from camilla.samples.verdicts import STOP
from camilla.table.content import KeptContent, Look, excerpts, shown_samples
from camilla.table.responses import ResponseTable

TWINS = 3  # pairs printed
ON_BOARD = 10  # learners printed
UNKNOWN = "How many are broken is not known before you judge some (--judged). "
EXPERTS = (
    f"{UNKNOWN}On MMLU-Redux experts found 41 % of the questions with evidence above 1.2 broken, 26 % of "
    "those from 0.6 to 1.2, 13 % from 0 to 0.6, and 5 % below 0."
)  # 3,000 questions, ten language models: docs/results/broken.md
VOTERS = (
    f"{UNKNOWN}On CIFAR-100 people found 43 % of the first 100 images wrongly labelled, of those that they "
    "judged."
)


@dataclass(frozen=True, eq=False, repr=False)
class SampleQuality(Printable):
    """The quality of every sample, the most suspicious first.

    Attributes
    ----------
    samples : DataFrame
        One row per sample, the strongest evidence against its key first: why, flags, difficulty,
        discrimination, fit, with intervals.
    twins : DataFrame
        Pairs of samples that learners answer alike.
    copies : DataFrame
        Pairs of samples with the same text and options.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.
    content : KeptContent or None
        Prompts, references and answers, where the table has them.
    table : ResponseTable or None
        The responses, where they are in memory.

    Examples
    --------
    >>> quality = camilla.items(camilla.simulate(20, 40, seed=1).table)
    >>> quality.samples.height
    40
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"samples": 10}

    samples: pl.DataFrame
    twins: pl.DataFrame
    copies: pl.DataFrame
    provenance: dict[str, Any]
    content: KeptContent | None = None
    table: ResponseTable | None = None

    def flagged(self) -> pl.DataFrame:
        """Returns the samples that something is odd about.

        Returns
        -------
        DataFrame
            Their rows of `samples`.

        Examples
        --------
        >>> quality = camilla.items(camilla.simulate(20, 40, seed=1).table)
        >>> quality.flagged().height <= quality.samples.height
        True
        """
        return self.samples.filter(pl.col("flags") != "")

    def parts(self, *, samples: int = 15, show: int = 0, effect: bool = False) -> list[Part]:
        """Returns what `text` prints: how many samples are flagged, those to check first and why, and twins.

        The first `show` samples are shown with what they ask and what those answered who contradict them.

        Parameters
        ----------
        samples : int
            How many samples to list.
        show : int
            How many samples to show with their content.
        effect : bool
            Whether to say what broken samples do to the result.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> quality = camilla.items(camilla.simulate(20, 40, seed=1).table)
        >>> len(quality.parts(samples=1)) > 1
        True
        """
        first = self.samples.head(samples)
        interval = "95 % CI"
        judged = ["error_share"] if self.provenance["verdicts"] else []
        frame = first.with_columns(
            pl.Series(interval, intervals(first, "discrimination_low", "discrimination_high"), pl.String)
        ).select(
            "sample", "pattern", "flags", "evidence", *judged, "accuracy", "able", "weak", "n",
            "discrimination", interval,
        )  # fmt: skip
        grid = Grid(
            "Samples to look at first", frame, fixed=("pattern", "flags", interval),
            spare=(interval, "discrimination", "n"),
        )  # fmt: skip
        reasons = [f"{brief(row['sample'])}: {row['why']}" for row in first.to_dicts() if row["why"]]
        told: list[Part] = [
            *self._answer(),
            *([grid] if first.height else []),
            *reasons,
            *self._copy_lines(),
            *self._twin_lines(),
        ]
        if effect:
            found = self.effect()
            told += found.sentences
            if found.board.height:
                told.append(Grid("Ranks and means without the broken samples", found.board.head(ON_BOARD)))
        return [*told, *(excerpts(self.content, self.looks(show)) if show else ())]

    def looks(self, show: int) -> list[Look]:
        """Returns the first samples with strong learners that fail them and weak ones that solve them.

        Parameters
        ----------
        show : int
            How many samples.

        Returns
        -------
        list
            The samples with their content.

        Examples
        --------
        >>> quality = camilla.items(camilla.simulate(20, 40, seed=1).table)
        >>> len(quality.looks(1))
        1
        """
        return [
            Look(
                row["sample"],
                row["flags"] or row["pattern"] or "not flagged",
                tuple((name, None) for name in (*row["failed_by"], *row["solved_by"])),
            )
            for row in self.samples.head(show).to_dicts()
        ]

    def to_document(self, *, show: int = 0, effect: bool = False) -> dict[str, Any]:
        """Returns everything as plain data; with `show` also the content of samples.

        Parameters
        ----------
        show : int
            How many samples to show with their content.
        effect : bool
            Whether to say what broken samples do to the result.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> quality = camilla.items(camilla.simulate(20, 40, seed=1).table)
        >>> quality.to_document()["verdict"]
        'flagged'
        """
        document = {
            "verdict": "flagged" if (self.samples["flags"] != "").any() else "none flagged",
            "samples": self.samples.to_dicts(),
            "twins": self.twins.to_dicts(),
            "copies": self.copies.to_dicts(),
            "provenance": self.provenance,
        }
        if effect:
            found = self.effect()
            document["effect"] = {"board": found.board.to_dicts(), "sentences": list(found.sentences)}
        return document | ({"shown": shown_samples(self.content, self.looks(show))} if show else {})

    def _answer(self) -> list[str]:
        made = self.provenance
        n, independent = made["n_learners"], made["n_independent"]
        alike = "" if round(independent) >= n else f" that count as {independent:.0f} independent ones"
        of = f"{made['n_samples']} samples, judged by {n} learners{alike}"
        marks = self.samples["flags"].str.split(", ").explode()
        counts = dict(marks.filter(marks != "").value_counts().sort("flags").iter_rows())
        alike_counts = [counts.pop(f"everyone {kind}", 0) for kind in ("wrong", "right")]
        lines = [f"No sample is flagged of {of}."]
        if counts:
            kinds = ", ".join(f"{count} {flag}" for flag, count in counts.items())
            some = self.samples.filter(pl.col("flags").str.contains("|".join(counts))).height
            lines = [f"{some} of {of}, {'is' if some == 1 else 'are'} flagged: {kinds}."]
        if any(alike_counts):
            nobody = counted(alike_counts[0], "sample")
            lines.append(
                f"Nobody solves {nobody}, everybody {alike_counts[1]}: these have no discrimination."
            )
        lines.append(
            "The list is ordered by the evidence against each key, log₁₀ of a likelihood ratio."
            if made["answers_known"]
            else "The list is ordered by the evidence against each key, log₁₀ of a likelihood ratio. Answers "
            "are not known: right and wrong alone say less."
        )
        below = self.samples.filter(pl.col("discrimination_high") < 0).height
        if below and "negative" not in counts:
            lines.append(
                f"The discrimination of {counted(below, 'sample')} has an interval below 0. Among so many "
                "samples that can be chance (Benjamini–Hochberg), so none is flagged as negative."
            )
        if made["only_ordered"]:
            lines.append(made["only_ordered"])
        return [*lines, *self._verdict_lines()]

    def _verdict_lines(self) -> list[str]:
        verdicts = self.provenance["verdicts"]
        if not verdicts:
            return [EXPERTS] if self.provenance["answers_known"] else [VOTERS]
        errors = "1 is broken" if verdicts["errors"] == 1 else f"{verdicts['errors']} are broken"
        low, high = (round(verdicts[f"broken_{end}"]) for end in ("low", "high"))
        lines = [
            f"Of {counted(verdicts['judged'], 'sample')} judged, {errors}. In the whole table "
            f"{round(verdicts['broken'])} of {self.samples.height} are expected to be broken "
            f"(95 % interval {low} to {high})."
        ]
        if verdicts["next"]:
            share, low_share, high_share = (
                _whole_percent(verdicts[f"next_{part}"]) for part in ("share", "low", "high")
            )
            lines.append(
                f"Of the next {verdicts['next']} in the list, {share} are expected to be broken "
                f"(95 % interval {low_share} to {high_share})."
            )
            if verdicts["next_share"] < STOP:
                lines.append("Judging on hardly pays: the list is expected to find few more.")
            elif drawn := self._drawn():
                lines.append(
                    f"Judge next the first {len(verdicts['to_judge']) - len(drawn)} in the list, and these, "
                    f"drawn at random to learn of the rest: {listed(drawn, len(drawn))}."
                )
        return lines

    def _drawn(self) -> list[str]:
        """The samples to judge next that are not among the first of the list."""
        verdicts = self.provenance["verdicts"]
        first = set(self.samples["sample"].head(verdicts["next"]))
        return [name for name in verdicts["to_judge"] if name not in first]

    def broken(self) -> pl.DataFrame:
        """Returns the samples that count as broken: those judged so, or without verdicts the flagged ones.

        Returns
        -------
        DataFrame
            Their rows of `samples`. Flags that count are doubtful, keys differ, and not an option.

        Examples
        --------
        >>> camilla.items(camilla.digits(), judged={"digit-1553": 1}).broken()["sample"].to_list()
        ['digit-1553']
        """
        return self.samples.filter(_is_broken(verdicts=self.provenance["verdicts"] is not None))

    def write_corrected(self, path: str | Path) -> Path:
        """Writes the table without the samples that count as broken, and beside it why each was left out.

        Parameters
        ----------
        path : str or path
            A file that ends in .csv, .tsv, .jsonl or .parquet. NAME.provenance.json is written beside it.

        Returns
        -------
        pathlib.Path
            The path of the provenance.

        Raises
        ------
        DataError
            The responses stayed in files larger than memory.

        Examples
        --------
        >>> quality = camilla.items(camilla.digits(), judged={"digit-1553": 1})
        >>> quality.write_corrected("corrected.csv").name
        'corrected.provenance.json'
        """
        if self.table is None:
            raise DataError(
                "responses in files larger than memory are not written again; use rank --without."
            )
        gone = self.broken()
        why = {
            row["sample"]: row["why"] if not row["flags"] else f"{row['flags']}. {row['why']}".strip()
            for row in gone.to_dicts()
        }
        return write_corrected(self.table, gone["sample"].to_list(), Path(path), self.provenance, why)

    def effect(self) -> Effect:
        """Returns what broken samples do to the result.

        Returns
        -------
        Effect
            `board`: rank and mean of each learner with all samples, without the broken ones, re-keyed where
            learners name one other answer, and, after verdicts, weighted by the chance of being sound.
            `sentences` say who moves and whether the verdict changes.

        Raises
        ------
        DataError
            The responses stayed in files larger than memory, or nearly every sample is broken.

        Examples
        --------
        >>> camilla.items(camilla.digits(), judged={"digit-1553": 1}).effect().board.columns[:3]
        ['learner', 'rank_all', 'mean_all']
        """
        if self.table is None:
            raise DataError("responses in files larger than memory are ranked with rank --without.")
        ordered = self.table.canonical().table
        rows = self.samples.sort("sample")  # as in the table, whose names are sorted
        place = name_index(ordered.samples)
        at = np.array([place[name] for name in rows["sample"]])
        gone, rekeyed = np.zeros((2, len(at)), bool)
        gone[at] = rows.select(_is_broken(verdicts=self.provenance["verdicts"] is not None)).to_series()
        rekeyed[at] = (rows["pattern"] == "other answer").to_numpy() & gone[at]
        chance = None
        if self.provenance["verdicts"] is not None:
            chance = np.zeros(len(at))
            chance[at] = rows.select(pl.coalesce(pl.col("error").cast(pl.Float64), "error_share")).to_series()
        return effect(ordered, gone, chance, rekeyed)

    def _copy_lines(self) -> list[str]:
        first = self.copies.sort("same_key", maintain_order=True)
        lines = [
            f"{'The same' if row['exact'] else 'Nearly the same'} text and options: {brief(row['sample'])} "
            f"and {brief(row['copy'])}{'' if row['same_key'] else ', with different keys'}."
            for row in first.head(TWINS).to_dicts()
        ]
        more = self.copies.height - len(lines)
        return [*lines, f"{counted(more, 'more pair')} of copies; --json lists them."] if more > 0 else lines

    def _twin_lines(self) -> list[str]:
        lines = [
            f"Nearly the same responses: {brief(row['sample'])} and {brief(row['twin'])} "
            f"({100 * row['agreement']:.1f} % equal, residual correlation {row['residual_correlation']:.2f})."
            for row in self.twins.head(TWINS).to_dicts()
        ]
        if self.provenance["twin_pairs"] is None:
            lines.append("Twins were not looked for: the table has too many pairs of samples.")
        elif (more := self.provenance["twin_pairs"] - TWINS) > 0:
            lines.append(f"{more} more pairs; --json has the closest {self.twins.height} of all.")
        return lines


def _is_broken(*, verdicts: bool) -> pl.Expr:
    if verdicts:
        return pl.col("error").fill_null(value=False)
    return pl.col("flags").str.contains("|".join(("doubtful", *FAULTY)))


def _whole_percent(share: float) -> str:
    return percent(round(share, 2))
