"""What a diagnosis prints: sentences and tables made of its frames and its provenance."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import polars as pl

from camilla.display import Grid, Part, brief, counted, intervals, listed, percent, signed
from camilla.fitting.fit import FittedDiagnoser
from camilla.fitting.protocol import Readout
from camilla.statistics.discrimination import points_backwards
from camilla.statistics.intervals import LEVEL
from camilla.statistics.missingness import rank_correlation
from camilla.table.columns import PLAIN, Scale
from camilla.table.responses import ResponseTable

ABILITY, SCORE, ACCURACY, RANKS = "95 % CI", "score 95 % CI", "accuracy 95 % CI", "rank 95 % CI"
UNIT_SCALE = "0 to 1"  # of abilities that are scores
AGREEING = 1.01  # split-R̂, above which chains do not agree yet (Vehtari et al. 2021)
BACKWARDS = 0.1  # share of samples with surely negative discriminations above which an ability is doubted
WITH_ACCURACY = 0.7  # rank correlation with accuracy below which an ability ranks learners otherwise
ENDS = {ABILITY: ("low", "high"), ACCURACY: ("accuracy_low", "accuracy_high")}


def board_parts(
    learners: pl.DataFrame, samples: pl.DataFrame, made: Mapping[str, Any], *, n_learners: int, n_samples: int
) -> list[Part]:
    """The first learners, what to know before reading them, the hardest samples, how it was made."""
    first = _with_intervals(learners.head(n_learners))
    title = f"{made['n_learners']} learners by ability ({made['scale']}), with {interval_in_words(made)}"
    if "p_best" in first.columns:
        title = (
            f"{made['n_learners']} learners by ability: {made['estimand']}, with {interval_in_words(made)}"
        )
        ends = first.select("rank_low", "rank_high").iter_rows()
        ranks = [f"{low}" if low == high else f"{low}–{high}" for low, high in ends]
        first = first.with_columns(pl.Series(RANKS, ranks, pl.String))
        board = Grid(
            title,
            first.select("rank", RANKS, "learner", "ability", ABILITY, "accuracy"),
            fixed=(RANKS, ABILITY),
            spare=(RANKS,),
        )
    else:
        shown = first.select("rank", "learner", "ability", ABILITY, "accuracy", ACCURACY)
        board = Grid(title, shown, fixed=tuple(ENDS), spare=(ACCURACY,))
    return [
        *_best_lines(learners, made),
        board,
        *(f"note: {note}" for note in made.get("notes", [])),  # absent from what was saved before
        _sample_grid(samples, n_samples, made),
        *_made_lines(made),
    ]


def _best_lines(learners: pl.DataFrame, made: Mapping[str, Any]) -> list[str]:
    """Who is the best, and how sure that is."""
    if "p_best" not in learners.columns:
        return []
    where = "samples like these" if "like these" in str(made["estimand"]) else "these samples"
    first = learners.row(0, named=True)
    if first["rank_high"] == 1:
        chance = _chance(first["p_best"])
        return [f"{brief(first['learner'])} is the best of {learners.height} learners on {where} ({chance})."]
    if first["p_best"] >= LEVEL:
        tied = int(learners["tied_with_first"].sum()) - 1
        return [
            f"{brief(first['learner'])} is probably the best of {learners.height} learners on {where} "
            f"({_chance(first['p_best'])}), but {counted(tied, 'other')} cannot be told apart from it."
        ]
    likely = learners.sort("p_best", "rank", descending=[True, False]).head(3)
    rows = [row for row in likely.select("learner", "p_best").iter_rows() if row[1] >= 1 - LEVEL]
    rows = rows or likely.select("learner", "p_best").rows()[:1]
    shown = ", ".join(f"{brief(name)} {_chance(share).removeprefix('probability ')}" for name, share in rows)
    return [
        f"No learner is clearly the best of {learners.height} on {where}. Probability of being the best: "
        f"{shown}."
    ]


def _chance(share: float) -> str:
    """A probability from some hundred draws: whole percents."""
    return "probability over 99 %" if share > 0.99 else f"probability {round(100 * share)} %"


def learner_parts(skills: pl.DataFrame, name: str, made: Mapping[str, Any]) -> list[Part]:
    """One learner's ability and plain accuracy on each skill, best first.

    Abilities that are no scores have one beside them: the expected score, or else the mastery.
    """
    rows = skills.filter(pl.col("learner") == name)
    rows = rows.sort("score" if "score" in rows.columns else "ability", descending=True)
    frame = _with_intervals(rows)
    beside = []
    if "score" in rows.columns:
        frame = frame.with_columns(pl.Series(SCORE, intervals(rows, "score_low", "score_high"), pl.String))
        beside = ["score", SCORE]
    elif made["scale"] != UNIT_SCALE:
        beside = ["mastery"]
    title = f"{brief(name)} by skill, with {interval_in_words(made)}"
    columns = ["skill", "ability", ABILITY, *beside, "accuracy", ACCURACY]
    fixed = tuple(name for name in (*ENDS, SCORE) if name in columns)
    return [Grid(title, frame.select(columns), fixed=fixed, spare=(ACCURACY, *beside[1:]))]


def interval_in_words(made: Mapping[str, Any]) -> str:
    """The kind of interval, as the head of a table says it."""
    kind = str(made["interval"]).removeprefix("95 %, ").replace("Laplace", "Laplace approximation")
    return f"95 % CI ({kind.removesuffix(', samples estimated jointly')})"


def _with_intervals(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        pl.Series(name, intervals(frame, *ends), pl.String) for name, ends in ENDS.items()
    )


def _sample_grid(samples: pl.DataFrame, most: int, made: Mapping[str, Any]) -> Grid:
    """A difficulty only where the discrimination is distinguishable from 0.

    Difficulty is the intercept over the discrimination: around 0 it may come out as anything.
    """
    order = ("accuracy", pl.col("expected").round_sig_figs(6), "sample")  # last bits of a mean order nothing
    hardest = samples.sort(*order).head(most)
    unsure = (pl.col("discrimination_low") <= 0) & (pl.col("discrimination_high") >= 0)
    columns = ("difficulty", "discrimination")
    frame = hardest.with_columns(_value_with_interval(hardest, name) for name in columns)
    frame = frame.with_columns(difficulty=pl.when(unsure).then(None).otherwise("difficulty"))
    return Grid(
        f"{hardest.height} hardest of {made['n_samples']} samples",
        frame.select("sample", "accuracy", "expected", *columns, "infit"),
        fixed=columns,
        spare=("infit", "expected"),
    )


def _value_with_interval(frame: pl.DataFrame, name: str) -> pl.Series:
    values = [None if value is None else f"{value:.2f}" for value in frame[name].fill_nan(None).to_list()]
    ends = intervals(frame, f"{name}_low", f"{name}_high", 2)
    texts = [
        value if value is None or interval is None else f"{value} ({interval})"
        for value, interval in zip(values, ends, strict=True)
    ]
    return pl.Series(name, texts, pl.String)


def _combined_line(made: Mapping[str, Any]) -> str:
    """What auto reads and what it predicts with."""
    if len(made["combined"]) == 1:
        return f"auto takes abilities and predictions from {made['diagnoser']}."
    names = " + ".join(f"{part['weight']:.2f} {part['diagnoser']}" for part in made["combined"])
    return (
        f"auto takes abilities from {made['diagnoser']} and predicts logits by {names}; these weights were "
        "learned on held-out responses."
    )


def _made_lines(made: Mapping[str, Any]) -> list[str]:
    chosen = ", ".join(f"{name} {value}" for name, value in made["chosen_on_validation"].items())
    lines = []
    if made["combined"]:
        lines.append(_combined_line(made))
    # after how many steps a fit converges depends on the CPU
    state = "converged" if made["converged"] else f"did NOT converge in {counted(made['steps'], 'step')}"
    ends = listed(made.get("chosen_at_an_end", []))
    edge = f"; the grid ends at this {ends}" if ends else ""
    settings = f" ({chosen}, chosen on held-out responses{edge})" if chosen else ""
    lines.append(
        f"{made['diagnoser']}{settings} {state}; seed {made['seed']}, data {made['data_hash'][:12]}."
    )
    if (scale := made.get("response_scale")) and (came := Scale(**scale)) != PLAIN:
        lines.append(f"Responses came on the scale {came.words} and were rescaled to 0 to 1.")
    return lines


def draw_facts(readout: Readout) -> dict[str, Any]:
    """What draws are worth, and whether several chains agree; None where there are none."""
    worth, agreement = readout.effective_draws, readout.r_hat
    return {
        "effective_draws": None
        if worth is None
        else {"least": float(worth.min()), "median": float(np.median(worth))},
        "r_hat": None
        if agreement is None
        else {
            "highest": float(agreement.max()),
            "median": float(np.median(agreement)),
            "above": int((agreement > AGREEING).sum()),
        },
    }


def chain_notes(readout: Readout, name: str, fitted: FittedDiagnoser, table: ResponseTable) -> list[str]:
    """Whose scores several chains do not agree on yet; `name` is the diagnoser that was asked for."""
    if readout.r_hat is None or not (above := readout.r_hat > AGREEING).any():
        return []
    highest = int(np.argmax(readout.r_hat))
    return [
        f"The chains do not agree yet on {int(above.sum())} of {len(above)} learners: split-R̂ is above "
        f"{AGREEING:g}, at most {readout.r_hat[highest]:.3f} ({table.learners[highest]}). "
        f"{_more_draws(name, fitted)}"
    ]


def _more_draws(name: str, fitted: FittedDiagnoser) -> str:
    """How to get four times the draws; a large table gets no more than it can afford, whatever was asked."""
    made, diagnoser = fitted.solution.steps, cast(Any, fitted.diagnoser)
    if made < diagnoser.draws:
        return (
            f"A table of this size gets {made} draws at most with {counted(diagnoser.n_dims, 'dimension')}; "
            "with fewer dimensions, learners or samples it gets more."
        )
    chains = f":chains={diagnoser.chains}" if diagnoser.chains > 1 else ""
    return f"Ask for more draws with {name}{chains}:draws={4 * made}."


def too_few_draws(readout: Readout, name: str, fitted: FittedDiagnoser) -> str:
    """What to try where a posterior's draws do not do; `name` is the diagnoser that was asked for."""
    draws, more = fitted.solution.steps, _more_draws(name, fitted)
    effective = np.zeros(1) if readout.effective_draws is None else readout.effective_draws
    worth = f"{np.median(effective):.0f} independent ones"
    if readout.r_hat is None or np.median(readout.r_hat) <= AGREEING:
        return f"the {draws} draws of {name} are worth only {worth}: intervals are rough. {more}"
    return (
        f"the chains of {name} do not agree: split-R̂ of the median learner is "
        f"{np.median(readout.r_hat):.2f}, and their {draws} draws are worth {worth}. {more}"
    )


def pair_notes(readout: Readout) -> list[str]:
    """What to say of two learners on a scale that is made of the two."""
    if len(readout.ability) != 2 or readout.unit_scale or readout.skill_weight is None:
        return []
    return [
        "The standardised abilities of only two learners are always −1 and 1, whatever they answered: do "
        "not interpret these abilities or their intervals; use auto."
    ]


def backwards_notes(readout: Readout, table: ResponseTable) -> list[str]:
    """What to say of one ability that many samples reward and many punish: its direction is arbitrary."""
    if readout.unit_scale or readout.ability.shape[1] > 1 or readout.discrimination_se is None:
        return []
    share = points_backwards(readout.discrimination, readout.discrimination_se)
    if share < BACKWARDS:
        return []
    means = table.learner_means().mean
    agreement = rank_correlation(readout.ability[:, 0][~np.isnan(means)], means[~np.isnan(means)]).rho
    rarely = "does not rank" if agreement < WITH_ACCURACY else "only roughly ranks"
    return [
        f"{percent(round(share, 2))} of the samples have a significantly negative discrimination: learners "
        f"with a higher ability do worse on them. This ability {rarely} learners by accuracy (rank "
        f"correlation {signed(agreement, 2)}); use auto for a ranking."
    ]


def estimand_of(readout: Readout, n_samples: int, *, these_samples: bool = False) -> str:
    """What an ability is, in words."""
    if readout.skill_weight is not None or not readout.unit_scale:
        return "ability on the diagnoser's own scale"
    which = "these" if these_samples or readout.effective_draws is None else "samples like these"
    return f"expected score on {which} {n_samples}" + (" samples" if which == "these" else "")
