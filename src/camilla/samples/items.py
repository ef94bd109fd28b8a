"""Which samples are broken: every sample with the evidence against its key, its factors and its fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from camilla.arrays import Floats, Watch, rounded
from camilla.diagnosing import diagnose
from camilla.display import watching
from camilla.errors import DataError, SettingError
from camilla.learners.response_bias import keys_apart
from camilla.provenance import made_of, made_of_shards
from camilla.reading.inputs import TableLike, as_table
from camilla.reading.verdict_files import verdicts
from camilla.samples.answers import Answers, answers_of_table
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
from camilla.samples.sample_quality import SampleQuality
from camilla.samples.texts import COPIES, TextFaults, text_faults
from camilla.samples.twins import NO_TWINS, Twins, twins
from camilla.samples.verdicts import Judged, recalibrated
from camilla.statistics.intervals import Z, wilson
from camilla.statistics.items import item_rest
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable
from camilla.table.shards import ShardFolder
from camilla.table.skills import SkillMap

FARTHEST = 4.0  # standard deviations of ability: no learner tells a difficulty beyond from one farther out
UNTOLD = ("discrimination", "discrimination_low", "discrimination_high", "item_rest", "item_rest_low",
          "item_rest_high", "negative_q")  # fmt: skip


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
