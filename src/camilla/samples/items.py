"""Which samples are broken: every sample with the evidence against its key, its factors and its fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from camilla.arrays import Floats, Watch, rounded
from camilla.diagnosing import diagnose
from camilla.display import Grid, Part, Printable, brief, counted, intervals, listed, percent, watching
from camilla.errors import DataError, SettingError
from camilla.learners.response_bias import keys_apart
from camilla.names import name_index
from camilla.provenance import made_of, made_of_shards
from camilla.reading.inputs import TableLike, as_table
from camilla.reading.verdict_files import verdicts
from camilla.samples.answers import Answers, answers_of_table
from camilla.samples.corrected import Effect, effect, write_corrected
from camilla.samples.measures import SampleMeasures
from camilla.samples.reasons import NAMES, SAID, graded, reasoned, short_references, testimony
from camilla.samples.sample_flags import (
    FAULTY,
    RATE,
    JudgingFit,
    KeyFit,
    SampleFlags,
    judging_fit,
    sample_flags,
    too_few_learners,
)
from camilla.samples.texts import COPIES, TextFaults, text_faults
from camilla.samples.twins import NO_TWINS, Twins, twins
from camilla.samples.verdicts import STOP, Judged, recalibrated
from camilla.statistics.intervals import Z, wilson
from camilla.statistics.items import item_rest
from camilla.table.content import KeptContent, Look, excerpts, shown_samples
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable
from camilla.table.shards import ShardFolder
from camilla.table.skills import SkillMap

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
FARTHEST = 4.0  # standard deviations of ability: no learner tells a difficulty beyond from one farther out
UNTOLD = ("discrimination", "discrimination_low", "discrimination_high", "item_rest", "item_rest_low",
          "item_rest_high", "negative_q")  # fmt: skip


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


def items(
    table: TableLike, *, rows: WideRows | None = None, judged: Any = None, rate: float = RATE, seed: int = 0,
    progress: bool | None = None, watch: Watch | None = None,
) -> SampleQuality:  # fmt: skip
    """Lists the samples that are broken, the strongest evidence first, with their difficulty and fit.

    A flag marks samples that deserve a look: negative discrimination (strong learners fail where weak ones
    pass), noise, twins, copies, keys that learners contradict.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    judged : mapping, dataframe or path, optional
        Verdicts of somebody who looked: {sample: whether it is broken}, or a table with columns sample and
        error. They estimate how many samples are broken, say what to judge next, and reorder the rest.
    rate : float
        False discovery rate of the tested flags: Benjamini–Hochberg for negative discrimination, Bonferroni
        over pairs for twins.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.

    Returns
    -------
    SampleQuality
        `samples` (strongest evidence first), `copies`, `twins`, `broken()`, `effect()`, `write_corrected()`,
        `flagged()`, `provenance`.

    Examples
    --------
    >>> quality = camilla.items(camilla.simulate(20, 40, seed=1).table)
    >>> quality.samples.columns[:4]
    ['look', 'sample', 'task', 'pattern']
    """
    if not 0 < rate < 1:
        raise SettingError(f"rate is a false discovery rate between 0 and 1, not {rate:g}.")
    large = table if isinstance(table, ShardFolder) else None
    table = None if large is not None else as_table(table, rows=rows)
    if few := too_few_learners(table.n_learners if large is None else len(large.learners)):
        raise DataError(few)
    if large is not None:
        with watching("judging samples", progress, watch) as watch:
            return _judged_shards(large, judged, rate, seed, watch)
    ordered = table.canonical().table
    verdict = None if judged is None else verdicts(judged, ordered.samples)
    with watching("judging samples", progress, watch) as watch:
        return _judged(table, ordered, verdict, rate, seed, watch)


def _within_keys(ordered: ResponseTable, seed: int, watch: Watch) -> list[KeyFit]:
    """A 2PL for each key that enough samples have, one of all samples for the others; none if no key has."""
    names, keys = np.asarray(ordered.key or (), dtype=object), keys_apart(ordered)
    fits = []
    for key in keys:
        own = np.flatnonzero(names == key)
        found = diagnose(ordered.take_samples(own), "irt", seed=seed, across_blocks=True, watch=watch)
        fits.append(KeyFit(found, own, np.arange(len(own))))
    if keys and len(rest := np.flatnonzero(~np.isin(names, keys))):
        fits.append(KeyFit(diagnose(ordered, "irt", seed=seed, across_blocks=True, watch=watch), rest, rest))
    return fits


def _judged(
    table: ResponseTable, ordered: ResponseTable, verdict: Floats | None, rate: float, seed: int, watch: Watch
) -> SampleQuality:
    every = np.arange(ordered.n_samples)
    answers = answers_of_table(ordered)
    fits = [KeyFit(diagnose(ordered, "irt", seed=seed, across_blocks=True, watch=watch), every, every)]
    texts = text_faults(ordered.content, ordered.samples, ordered.key)
    judge, pairs, flags = _decisions(fits, answers, texts, rate, watch)
    within = _within_keys(ordered, seed, watch) if flags.only_ordered else []
    if within:
        fits = within
        judge, pairs, flags = _decisions(fits, answers, texts, rate, watch)
    frame = _factors(fits, judge, flags)
    frame = frame.hstack(testimony(judge, answers, ordered.learners, _keys(ordered))).with_columns(
        task=pl.Series(ordered.task, dtype=pl.String) if ordered.task is not None else None
    )
    calibrated = None if verdict is None else _recalibrated(ordered, flags.doubt.evidence, verdict, seed)
    frame = frame.with_columns(
        error=_verdict_column(verdict, ordered.n_samples),
        error_share=pl.Series(calibrated.share) if calibrated else pl.lit(None, pl.Float64),
    )
    provenance = made_of(table, rate=rate, seed=seed, irt=fits[0].found.provenance["settings"]) | {
        **_judged_by(judge, flags),
        "answers_known": answers is not None,
        "n_keys": len(within) or None,
        "verdicts": _verdict_summary(verdict, calibrated, ordered.samples),
        "twin_pairs": pairs.n_pairs,
    }
    named = _named(pairs, ordered.samples, judge.matrix)
    failing = graded(binary=judge.is_binary, trials=_repeats(ordered))
    copies = _copies(texts, ordered.samples)
    return SampleQuality(_ranked(frame, failing), named, copies, provenance, table.content, table)


def _decisions(
    fits: list[KeyFit], answers: Answers | None, texts: TextFaults | None, rate: float, watch: Watch
) -> tuple[JudgingFit, Twins, SampleFlags]:
    watch("what is odd about each sample")
    judge = judging_fit(*fits)
    pairs = twins(judge.matrix, judge.predicted, rate=rate)
    return judge, pairs, sample_flags(judge, answers, pairs, texts, rate=rate)


def _judged_by(judge: JudgingFit, flags: SampleFlags) -> dict[str, Any]:
    """How intervals are made, and what decided about doubtful samples."""
    return {
        "interval": "95 %; difficulty: Laplace, learners held fixed; discrimination: profile likelihood, "
        "abilities estimated from the other responses, learners that answer alike counted once; item_rest: "
        "influence function on Fisher's scale; accuracy: Wilson, with Student's t where responses are "
        "fractional",
        "n_independent": judge.n_independent,
        "only_ordered": flags.only_ordered,
        "reversed_share": flags.doubt.share,
    }


def _judged_shards(folder: ShardFolder, judged: Any, rate: float, seed: int, watch: Watch) -> SampleQuality:
    """The same of responses that stay in their files."""
    from camilla.samples.shard_judge import judge_shards

    verdict = None if judged is None else verdicts(judged, folder.samples)
    found = judge_shards(folder, rate=rate, seed=seed, watch=watch)
    flags, measures = found.flags, found.measures
    frame = _factor_frame(found.diagnosis.samples, measures, flags, binary=not folder.fractional)
    frame = frame.with_columns(
        able=pl.Series(found.able).fill_nan(None), weak=pl.Series(found.weak).fill_nan(None),
        failed_by=pl.Series(found.failed, dtype=NAMES), solved_by=pl.Series(found.solved, dtype=NAMES),
        failing=pl.Series(found.failing), task=pl.lit(None, pl.String), key=pl.lit(None, pl.String),
        **{name: pl.lit(None, kind) for name, kind in SAID.items()},
    )  # fmt: skip
    calibrated = None
    if verdict is not None:
        evidence = flags.doubt.evidence
        calibrated = recalibrated(evidence, np.zeros((len(evidence), 0), bool), verdict, seed=seed)
    frame = frame.with_columns(
        error=_verdict_column(verdict, len(folder.samples)),
        error_share=pl.Series(calibrated.share) if calibrated else pl.lit(None, pl.Float64),
    )
    made = made_of_shards(folder, rate=rate, seed=seed, irt=found.diagnosis.provenance["settings"])
    provenance = made | {
        **_judged_by(found.judge, flags), "answers_known": False, "n_keys": None,
        "verdicts": _verdict_summary(verdict, calibrated, folder.samples),
        "twin_pairs": None if found.twins is None else found.twins.n_pairs,
    }  # fmt: skip
    pairs = found.twins or NO_TWINS
    named = _named(pairs, folder.samples, found.matrix)
    failing = graded(binary=not folder.fractional, trials=False)
    return SampleQuality(_ranked(frame, failing), named, _copies(None, folder.samples), provenance)


def _recalibrated(ordered: ResponseTable, evidence: Floats, verdict: Floats, seed: int) -> Judged:
    """Samples of one key, task or skill are alike."""
    columns = [column for column in (ordered.key, ordered.task) if column is not None]
    masks = [SkillMap.from_labels(column).mask for column in columns]
    if ordered.skill_map is not None:
        masks.append(ordered.skill_map.mask)
    groups = np.hstack([np.zeros((len(evidence), 0), bool), *masks])
    return recalibrated(evidence, groups, verdict, seed=seed)


def _verdict_column(verdict: Floats | None, n_samples: int) -> pl.Series:
    values = np.full(n_samples, np.nan) if verdict is None else verdict
    return pl.Series([None if np.isnan(value) else bool(value) for value in values], dtype=pl.Boolean)


def _verdict_summary(
    verdict: Floats | None, found: Judged | None, samples: Sequence[str]
) -> dict[str, Any] | None:
    """What was judged, and what it makes one expect of the next and of all, with 95 % intervals."""
    if verdict is None or found is None:
        return None
    given = verdict[~np.isnan(verdict)]
    share = wilson(given.mean(), len(given), Z)
    return {
        "judged": len(given), "errors": int(given.sum()), "share": float(given.mean()),
        "low": float(share.low), "high": float(share.high), "next": len(found.following),
        "next_share": found.next_share, "next_low": found.next_low, "next_high": found.next_high,
        "broken": found.broken, "broken_low": found.broken_low, "broken_high": found.broken_high,
        "to_judge": [samples[j] for j in found.to_judge],
    }  # fmt: skip


def _factors(fits: Sequence[KeyFit], judge: JudgingFit, decided: SampleFlags) -> pl.DataFrame:
    frame = pl.concat([fit.found.samples[fit.places.tolist()] for fit in fits])
    order = np.argsort(np.concatenate([fit.samples for fit in fits]), kind="stable")
    measures = SampleMeasures(item_rest(judge.matrix), judge.discrimination_ends())
    return _factor_frame(frame[order.tolist()], measures, decided, binary=judge.is_binary)


def _factor_frame(
    frame: pl.DataFrame, measures: SampleMeasures, decided: SampleFlags, *, binary: bool
) -> pl.DataFrame:
    rest, ends, fit, n_samples = measures.rest, measures.ends, decided.fit, frame.height
    unknown = np.full(n_samples, np.nan)
    columns = {
        "evidence": rounded(decided.doubt.evidence),
        "discrimination_low": ends.low, "discrimination_high": ends.high,
        "item_rest": rest.r, "item_rest_low": rest.low, "item_rest_high": rest.high,
        "infit_z": fit.infit_z if binary else unknown, "outfit_z": fit.outfit_z if binary else unknown,
        "negative_q": decided.negative_q,
    }  # fmt: skip
    flags = [decided.names(j) for j in range(n_samples)]
    alike = decided.marks["everyone right"] | decided.marks["everyone wrong"]
    none = [name for name in UNTOLD if name in frame.columns or name in columns]
    beyond = pl.col("difficulty").abs().gt(FARTHEST) | pl.Series(alike)
    outer = [pl.col("difficulty_low") < -FARTHEST, pl.col("difficulty_high") > FARTHEST]
    nobody, everybody = (pl.Series(decided.marks[f"everyone {kind}"]) for kind in ("wrong", "right"))
    frame = frame.with_columns(
        difficulty=pl.when(~beyond).then("difficulty"),
        difficulty_low=pl.when(~(outer[0] | everybody)).then("difficulty_low"),
        difficulty_high=pl.when(~(outer[1] | nobody)).then("difficulty_high"),
    )
    return frame.with_columns(
        *pl.DataFrame(columns).fill_nan(None), flags=pl.Series(map(", ".join, flags), dtype=pl.String)
    ).with_columns(pl.when(~pl.Series(alike)).then(pl.col(none)))  # fmt: skip


def _repeats(ordered: ResponseTable) -> bool:
    return len(ordered.cells().response) < ordered.n_responses


def _keys(ordered: ResponseTable) -> pl.Series:
    """The key of each sample, else its reference where that is short."""
    if ordered.key is None:
        return short_references(ordered.content, ordered.samples)
    return pl.Series(ordered.key, dtype=pl.String)


def _ranked(frame: pl.DataFrame, failing: str) -> pl.DataFrame:
    """The strongest evidence first, or with verdicts the likeliest error; the judged last. Each with why."""
    first = ("look", "sample", "task", "pattern", "why", "flags", "evidence")
    return (
        reasoned(frame, failing)
        .with_columns(
            judged=pl.col("error").is_not_null(), faulty=pl.col("flags").str.contains("|".join(FAULTY))
        )
        .sort(
            "judged", "faulty", pl.col("error_share").round(6), pl.col("evidence").round(6),
            pl.col("item_rest").round_sig_figs(6), "sample",
            descending=[False, True, True, True, False, False], nulls_last=True,
        )
        .drop("judged", "faulty", "failing", "expected", "difficulty_se", "discrimination_se", "accuracy_se")
        .with_row_index("look", offset=1)
        .select(*first, pl.exclude(*first))
    )  # fmt: skip


def _copies(texts: TextFaults | None, samples: Sequence[str]) -> pl.DataFrame:
    found = pl.DataFrame(schema=COPIES) if texts is None else texts.copies
    names = pl.Series(samples, dtype=pl.String)
    return found.with_columns(
        names.gather(found["sample"]).alias("sample"), names.gather(found["copy"]).alias("copy")
    )


def _named(pairs: Twins, samples: tuple[str, ...], matrix: Floats) -> pl.DataFrame:
    agreement = [
        float(np.nanmean(1 - np.abs(matrix[:, i] - matrix[:, j])))
        for i, j in zip(pairs.one, pairs.other, strict=True)
    ]
    return pl.DataFrame(
        {
            "sample": [samples[i] for i in pairs.one],
            "twin": [samples[j] for j in pairs.other],
            "agreement": agreement,
            "residual_correlation": pairs.correlation,
            "low": pairs.low,
            "high": pairs.high,
        },
        schema={"sample": pl.String, "twin": pl.String, "agreement": pl.Float64,
                "residual_correlation": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    )  # fmt: skip
