"""A diagnosis: named results, predictions, placing, and what draws of it say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid
from camilla.diagnosis_folder import read_directory, write_directory
from camilla.diagnosis_parts import board_parts, learner_parts
from camilla.display import Part, Printable
from camilla.errors import DataError
from camilla.fitting.engines import engine_of
from camilla.fitting.protocol import Indices, Level, Readout, ScoreDraws
from camilla.names import name_index, nearest
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.intervals import LEVEL, Z, mean_ends
from camilla.statistics.posterior import (
    chance_better,
    estimates,
    random_shares,
    ranks,
    shared_spread,
    simultaneous_half_width,
    tie_groups,
)
from camilla.statistics.standing import (
    PairChances,
    Standing,
    chances_by_draws,
    chances_by_errors,
    standing_by_draws,
    standing_by_errors,
)
from camilla.table.cells import Cells, means, zero_or_one
from camilla.table.content import KeptContent
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

DECIMALS = 7  # of an ability that decide a rank: fits stop nearer to their mode than that


class Chances(NamedTuple):
    """Expected responses, and the 95 % interval that comes from the learner's ability; None: not known."""

    probability: Floats
    low: Floats | None
    high: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Printable):
    """Abilities of learners, factors of samples, and predictions, with intervals.

    `learners` is the leaderboard, `samples` has one row per sample, `skills` one row per learner and
    skill. Intervals are at 95 %; `provenance["interval"]` says what they rest on.
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"learners": 10, "samples": 5}

    learners: pl.DataFrame
    samples: pl.DataFrame
    skills: pl.DataFrame
    provenance: dict[str, Any]
    learner_names: tuple[str, ...]
    sample_names: tuple[str, ...]
    skill_names: tuple[str, ...]
    diagnoser: Any
    params: Any
    readout: Readout
    temperature: float
    cells: Cells
    clusters: tuple[str, ...] | None = None  # of samples, in the order of sample_names
    combined: Floats | None = None  # [samples, learners], logits of auto's combination, for `predict`
    content: KeptContent | None = None  # what samples ask and learners answered, read when asked for

    def predict(
        self, learners: Sequence[str] | None = None, samples: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """The expected response of learners on samples, all of them by default.

        Where auto combined several diagnosers, `provenance["combined"]` has their weights.
        Columns learner, sample, probability, and low, high: the 95 % interval that comes from the
        uncertainty of the learner's ability (empty where the diagnoser has none).
        """
        who = self._indices(learners, self.learner_names, "learner")
        what = self._indices(samples, self.sample_names, "sample")
        learner, sample = np.repeat(who, len(what)), np.tile(what, len(who))
        chance = self.chances(learner, sample)
        return pl.DataFrame(
            {
                "learner": np.array(self.learner_names, object)[learner],
                "sample": np.array(self.sample_names, object)[sample],
                **chance._asdict(),
            },
            schema={"learner": pl.String, "sample": pl.String, "probability": pl.Float64, "low": pl.Float64,
                    "high": pl.Float64},
        )  # fmt: skip

    def chances(self, learner: NDArray[np.integer], sample: NDArray[np.integer]) -> "Chances":
        """`predict` for pairs of places in `learner_names` and `sample_names`, as arrays."""
        engine = engine_of(self.diagnoser)
        logits = self.logit(learner, sample)
        if self.combined is not None:
            logits = self.combined[sample, learner].astype(np.float64)
        se = engine.logit_se(self.diagnoser, self.params, self.readout, learner, sample)
        if se is None:
            return Chances(sigmoid(logits), None, None)
        half = Z * se / self.temperature
        return Chances(sigmoid(logits), sigmoid(logits - half), sigmoid(logits + half))

    def probabilities(self) -> Floats:
        """The expected response of every learner on every sample: [learners, samples] in the names' order."""
        n, m = len(self.learner_names), len(self.sample_names)
        learner, sample = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        return sigmoid(self.logit(learner, sample)).reshape(n, m)

    def logit(self, learner: Indices, sample: Indices) -> Floats:
        """The logit of the expected response for pairs of places in `learner_names` and `sample_names`."""
        logits = engine_of(self.diagnoser).logit(self.diagnoser, self.params, learner, sample)
        return logits / self.temperature

    def ability(self, samples: Iterable[str] | None = None, *, like_these: bool = False) -> pl.DataFrame:
        """Every learner's ability on any set of samples (Figure 3 of the paper), accuracy beside it.

        It is the ability on exactly these samples. With `like_these` it is the ability on samples like these,
        from which they are taken for a random draw (of whole clusters where the table has clusters): the same
        number or nearly so, with a wider interval. Diagnosers with draws have it: auto, bayes.
        """
        chosen = self._indices(None if samples is None else list(samples), self.sample_names, "sample")
        if len(chosen) == 0:
            raise DataError("ability was asked on no sample; name at least one.")
        frame = pl.DataFrame({"learner": self.learner_names}).hstack(
            _frame_of(self._draws_like_these(self.pool, chosen))
            if like_these
            else self.ability_on(self.pool, chosen)
        )
        return self.beside_accuracy(frame, self.accuracy_on(chosen)).sort(
            pl.col("ability").round(DECIMALS), "learner", descending=[True, False]
        )

    @property
    def pool(self) -> Level:
        """The diagnosis' own learners, in the order of `learner_names`."""
        return engine_of(self.diagnoser).pool(self.diagnoser, self.params, self.readout)

    def better(self, one: str, other: str) -> float:
        """P(one's expected score on these samples is above the other's)."""
        a, b = self._indices([one, other], self.learner_names, "learner")
        return chance_better(self._draws(), int(a), int(b))

    def learners_like_these(self) -> pl.DataFrame:
        """`learners` with abilities, ranks and chances of being the best on samples like these."""
        board = self.ability(like_these=True).with_row_index("rank", offset=1)
        return board.select("learner", "rank", pl.exclude("learner", "rank")).join(
            self._standing(self._draws_like_these(self.pool, np.arange(len(self.sample_names)))),
            on="learner",
            maintain_order="left",
        )

    def standing(self) -> pl.DataFrame | None:
        """learner, rank_low, rank_high (95 %), p_best, tie_group; None of a diagnoser without draws.

        Learners of one tie_group are not told apart from its first with 95 % probability.
        """
        return None if self.pool.draws is None else self._standing(self._draws())

    def _standing(self, draws: Floats) -> pl.DataFrame:
        found = ranks(draws)
        return pl.DataFrame(
            {"learner": self.learner_names, "rank_low": found.low, "rank_high": found.high,
             "p_best": found.best, "tie_group": tie_groups(draws)}
        )  # fmt: skip

    def told_apart(self) -> Standing | None:
        """Ranks and ties in the order of the board: by draws, else by tests; None without either.

        It is what every table, picture and page shows.
        """
        if self.pool.draws is not None:
            return standing_by_draws(self._draws()[:, self._board_order()])
        return standing_by_errors(*self._board_ability())

    def pair_chances(self) -> PairChances:
        """How probably each learner is above each other, in the order of the board."""
        if self.pool.draws is not None:
            return chances_by_draws(self._draws()[:, self._board_order()])
        return chances_by_errors(*self._board_ability())

    def _board_order(self) -> NDArray[np.int64]:
        return self._indices(self.learners["learner"].to_list(), self.learner_names, "learner")

    def _board_ability(self) -> tuple[Floats, Floats]:
        """Abilities and their standard errors, NaN where they are not known."""
        ability, se = (
            self.learners[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("ability", "se")
        )
        return ability, se

    def simultaneous(self) -> pl.DataFrame:
        """learner, low, high: intervals that hold all learners' expected scores at once with 95 %."""
        draws = self._draws()
        half = simultaneous_half_width(draws) * draws.std(axis=0)
        mean = draws.mean(axis=0)
        return pl.DataFrame(
            {
                "learner": self.learner_names,
                "low": np.clip(mean - half, 0, 1),
                "high": np.clip(mean + half, 0, 1),
            }
        )

    def _draws(self) -> Floats:
        """[draws, learners], expected scores on all samples."""
        return self._with_draws(self.pool).on(np.arange(len(self.sample_names)))

    def score_draws(self, samples: NDArray[np.integer]) -> Floats:
        """[draws, learners], expected scores on samples like these sample indices."""
        return self._draws_like_these(self.pool, samples)

    def _with_draws(self, level: Level) -> ScoreDraws:
        if level.draws is None:
            raise DataError(
                f"{self.diagnoser.name} has no draws of scores, which this needs. Diagnose with auto."
            )
        return level.draws

    def _draws_like_these(self, level: Level, samples: NDArray[np.integer]) -> Floats:
        """Each draw with samples, or clusters, that count by random shares: the Bayesian bootstrap."""
        draws = self._with_draws(level)
        if self.clusters is None:
            return draws.on(samples, random_shares(draws.n_draws, np.arange(len(samples))))
        group = np.unique(np.array(self.clusters, object)[samples].astype(str), return_inverse=True)[1]
        drawn = draws.on(samples, random_shares(draws.n_draws, group))
        return np.clip(drawn + self._missed_of(group, samples, drawn.shape), 0, 1)

    def _missed_of(
        self, group: NDArray[np.integer], samples: NDArray[np.integer], shape: tuple[int, ...]
    ) -> Floats:
        """Draws of what learners make of other clusters that the diagnoser does not see: [draws, learners].

        A learner's residuals within a cluster go together by so much; a mean over clusters averages them.
        """
        of = np.full(len(self.sample_names), -1)
        of[samples] = group
        cells = self.cells.take(of[self.cells.sample] >= 0)
        left = cells.response - sigmoid(self.logit(cells.learner, cells.sample))
        variance = shared_spread(left, cells.learner, of[cells.sample])
        variance *= float(np.sum((np.bincount(group) / len(group)) ** 2))
        return np.sqrt(variance) * np.random.default_rng(1).standard_normal(shape)

    def ability_on(
        self, level: Level, samples: NDArray[np.integer], *, answers: Cells | None = None
    ) -> pl.DataFrame:
        """ability, se, low, high of learners on these sample indices; answers: see `Engine.expected`."""
        if level.draws is not None:
            return _frame_of(level.draws.on(samples))
        ability, covariance = level.ability, level.covariance
        if self.readout.skill_weight is None or self.readout.expected:
            value, se = engine_of(self.diagnoser).expected(
                self.diagnoser, self.params, self.readout, ability, covariance, samples, answers
            )
        else:
            weight = self.readout.skill_weight[samples].mean(axis=0)
            value = ability @ weight
            se = np.sqrt(np.maximum(np.einsum("nkl,k,l->n", covariance, weight, weight), 0))
        if self.readout.assisted and level.ability is self.readout.ability:
            value, se = self._assisted(value, se, samples)
        low, high = value - Z * se, value + Z * se
        if self.readout.unit_scale:
            low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        return pl.DataFrame({"ability": value, "se": se, "low": low, "high": high})

    def require_responses(self) -> None:
        """Refuses what needs the responses again where they were too many to be kept."""
        if self.provenance.get("out_of_core"):
            raise DataError(
                "the responses of this diagnosis were too many to be kept in it, and this needs them again. "
                "Diagnose a part of the table for it; show, predict and place work as they are."
            )

    def accuracy_on(self, samples: NDArray[np.integer]) -> pl.DataFrame:
        """accuracy, accuracy_se, accuracy_low, accuracy_high, n of every learner on these sample indices."""
        self.require_responses()
        inside = np.zeros(len(self.sample_names), bool)
        inside[samples] = True
        return accuracy_columns(self.cells, "learner", len(self.learner_names), inside[self.cells.sample])

    def beside_accuracy(self, frame: pl.DataFrame, accuracy: pl.DataFrame) -> pl.DataFrame:
        """Both together; an ability that is the plain mean of these responses has that mean's interval."""
        joined = frame.hstack(accuracy)
        if not self.readout.counted:
            return joined
        same = (pl.col("ability") - pl.col("accuracy")).abs() < 10**-DECIMALS
        ends = {end: pl.when(same).then(f"accuracy_{end}").otherwise(end) for end in ("low", "high")}
        return joined.with_columns(**ends)

    def place(self, table: TableLike, *, rows: WideRows | None = None) -> pl.DataFrame:
        """New learners on this scale: ability, se, low, high and accuracy of each, the pool left as it is.

        Samples are matched by name; responses to samples the diagnosis does not know are left out and
        counted in the column n_unknown.
        """
        table = as_table(table, rows=rows)
        return pl.concat([self._placed(table, index) for index in range(table.n_learners)])

    def place_skills(self, table: TableLike, *, rows: WideRows | None = None) -> pl.DataFrame:
        """New learners' ability and accuracy on each skill."""
        table, out = as_table(table, rows=rows), []
        for index, name in enumerate(table.learners):
            level, where = self._level(table, index)
            answers = _known_cells(table, index, where)
            for skill, samples in self.skill_samples():
                row = self.skill_ability(level, skill, samples, answers)
                row = self.beside_accuracy(row, _accuracy_of(table, index, np.isin(where, samples)))
                out.append(pl.DataFrame({"learner": [name], "skill": [self.skill_names[skill]]}).hstack(row))
        return pl.concat(out)

    def skill_samples(self) -> list[tuple[int, NDArray[np.integer]]]:
        """(skill, its samples) of every named skill: those of the map, else every sample for a latent one."""
        mask = self.diagnoser.size.skill_mask
        if mask is None:
            return [(k, np.arange(len(self.sample_names))) for k in range(len(self.skill_names))]
        return [(k, np.flatnonzero(mask[:, k])) for k in range(mask.shape[1])]

    def skill_ability(
        self, level: Level, skill: int, samples: NDArray[np.integer], answers: Cells
    ) -> pl.DataFrame:
        """ability, se, low, high, mastery on one skill: its own coordinate, or the ability on its samples.

        answers: of the learners in `level`.
        """
        ability, covariance = level.ability, level.covariance
        latent = self.diagnoser.size.skill_mask is None
        if (self.readout.explicit or latent) and self.readout.skill_weight is not None:
            value, se = ability[:, skill], np.sqrt(covariance[:, skill, skill])
            low, high = value - Z * se, value + Z * se
            if self.readout.unit_scale:
                low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
            if self.readout.credible:
                low, high = np.where(value > LEVEL, 1.0, 0.0), np.where(value < 1 - LEVEL, 0.0, 1.0)
            frame = pl.DataFrame({"ability": value, "se": se, "low": low, "high": high})
        else:
            inside = np.zeros(len(self.sample_names), bool)
            inside[samples] = True
            frame = self.ability_on(level, samples, answers=answers.take(inside[answers.sample]))
        mastery = pl.col("ability") if self.readout.unit_scale else 1 / (1 + (-pl.col("ability")).exp())
        return frame.with_columns(mastery=mastery)

    def skill_mask(self) -> pl.DataFrame:
        """How much each sample asks of each skill: rows sum to 1."""
        if self.readout.skill_weight is None:
            name = self.diagnoser.name
            whose = f"auto takes abilities from {name}, which" if self.provenance["combined"] else name
            raise DataError(
                f"{whose} does not tell how much each sample asks of each skill, so there is no skill mask. "
                "Diagnose with camilla, which does."
            )
        return pl.DataFrame({"sample": self.sample_names}).hstack(
            pl.DataFrame(self.readout.skill_weight, schema=list(self.coordinates))
        )

    def parts(
        self, *, learners: int = 20, samples: int = 10, learner: str | None = None, like_these: bool = False
    ) -> list[Part]:
        """The leaderboard, the hardest samples, how it was made; or of one learner its skills.

        With `like_these` abilities are on samples like these; see `ability`.
        """
        if learner is None:
            frame, made = self.learners, self.provenance
            if like_these:
                made = made | {"estimand": f"expected score on samples like these {len(self.sample_names)}"}
                frame = self.learners_like_these()
            return board_parts(frame, self.samples, made, n_learners=learners, n_samples=samples)
        self._indices([learner], self.learner_names, "learner")
        return learner_parts(self.skills, learner, self.provenance)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of readout.ability."""
        if self.readout.explicit:
            return self.skill_names
        n_dims, named = self.readout.ability.shape[1], self.skill_names[: self.readout.n_mapped]
        if n_dims == 1:
            return ("overall",)
        return (*named, *(f"latent {k + 1}" for k in range(n_dims - len(named))))

    def save(self, path: str | Path) -> Path:
        """Writes one directory, whole or not at all; what samples ask and learners answered goes with it."""
        return write_directory(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a saved directory back, bit for bit; what is damaged or newer is refused."""
        return cls(**read_directory(Path(path)))

    def _indices(self, wanted: Sequence[str] | None, names: tuple[str, ...], kind: str) -> NDArray[np.int64]:
        if wanted is None:
            return np.arange(len(names))
        position = name_index(names)
        if unknown := [name for name in wanted if name not in position]:
            raise DataError(f"no {kind} {unknown[0]!r} in this diagnosis. {nearest(unknown[0], names)}")
        return np.array([position[name] for name in wanted], np.int64)

    def _assisted(self, value: Floats, se: Floats, samples: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Σⱼ p̂ⱼ/n + Σ (x − p̂)/m over the m of these samples that a learner answered, variance Σ p̂(1 − p̂)/m².

        A learner that answered none keeps what the fit expects of it.
        """
        inside = np.zeros(len(self.sample_names), bool)
        inside[samples] = True
        cells = self.cells.take(np.flatnonzero(inside[self.cells.sample]))
        raw = engine_of(self.diagnoser).logit(self.diagnoser, self.params, cells.learner, cells.sample)
        p, n = sigmoid(raw), len(self.learner_names)
        count = np.bincount(cells.learner, minlength=n)
        left = np.bincount(cells.learner, cells.response - p, n)
        noise = (cells.response - p) ** 2 if self.provenance["fractional"] else p * (1 - p) / cells.weight
        seen = np.maximum(count, 1)
        value = np.where(count > 0, value + left / seen, value)
        return value, np.where(count > 0, np.sqrt(np.bincount(cells.learner, noise, n)) / seen, se)

    def _level(self, table: ResponseTable, index: int) -> tuple[Level, NDArray[np.int64]]:
        """Where the learner stands, and which of our samples each of its cells is of, −1 for none."""
        position = name_index(self.sample_names)
        cells = table.cells()
        mine = cells.learner == index
        where = np.array([position.get(table.samples[j], -1) for j in cells.sample[mine]], np.int64)
        known = where >= 0
        if not known.any():
            raise DataError(
                f"learner {table.learners[index]!r} has no response to any of the "
                f"{len(self.sample_names)} samples of this diagnosis. Samples are matched by name: check "
                "how they are spelled."
            )
        weight, right = np.zeros(len(self.sample_names)), np.zeros(len(self.sample_names))
        weight[where[known]] = cells.weight[mine][known]
        right[where[known]] = (cells.weight * cells.response)[mine][known]
        engine = engine_of(self.diagnoser)
        placement = engine.place(self.diagnoser, self.params, weight, right, self.readout.sample_weight)
        level = engine.level(self.diagnoser, self.params, placement)
        scaled = level.covariance * self.readout.dispersion
        return Level(level.ability[None], scaled[None], level.draws), where

    def _placed(self, table: ResponseTable, index: int) -> pl.DataFrame:
        level, where = self._level(table, index)
        everywhere = np.arange(len(self.sample_names))
        frame = self.ability_on(level, everywhere)
        name = table.learners[index]
        return (
            pl.DataFrame({"learner": [name], "rank": [self._rank(name, frame["ability"][0])]})
            .hstack(self.beside_accuracy(frame, _accuracy_of(table, index, where >= 0)))
            .with_columns(n_unknown=pl.lit(int((where < 0).sum())))
        )

    def _rank(self, name: str, ability: float) -> int:
        """The rank on the board if it had this learner, instead of the one of its name if there is one."""
        others = self.learners.filter(pl.col("learner") != name)
        ahead = others["ability"].round(DECIMALS) - round(ability, DECIMALS)
        return 1 + int(((ahead > 0) | ((ahead == 0) & (others["learner"] < name))).sum())


def _frame_of(draws: Floats) -> pl.DataFrame:
    found = estimates(draws)
    return pl.DataFrame({"ability": found.value, "se": found.se, "low": found.low, "high": found.high})


def _accuracy_of(table: ResponseTable, index: int, inside: NDArray[np.bool_]) -> pl.DataFrame:
    """The accuracy of one learner on those of its cells that are `inside`."""
    cells = table.cells()
    rows = np.flatnonzero(cells.learner == index)[inside]
    return accuracy_columns(cells._replace(learner=np.zeros_like(cells.learner)), "learner", 1, rows)


def _known_cells(table: ResponseTable, index: int, where: NDArray[np.integer]) -> Cells:
    """One learner's answers to samples that are known, as those of learner 0; `where` these are, or −1."""
    cells = table.cells()
    own = cells.take(cells.learner == index)
    return own._replace(learner=np.zeros_like(own.learner), sample=where.astype(np.int32)).take(where >= 0)


def accuracy_columns(
    cells: Cells, by: Literal["learner", "sample"], n_groups: int, rows: NDArray[Any] | None = None
) -> pl.DataFrame:
    """accuracy, its standard error and 95 % interval, n cells; the interval is what rank has of learners."""
    cells = cells if rows is None else cells.take(rows)
    group = getattr(cells, by)
    mean, se, _ = means(group, cells, n_groups)
    n = np.bincount(group, minlength=n_groups).astype(np.float64)
    scored = ~zero_or_one(cells.response) | (cells.weight != 1)
    exact = np.bincount(group[scored], minlength=n_groups) == 0
    return accuracy_frame(mean, se, n, exact)


def accuracy_frame(mean: Floats, se: Floats, n: Floats, exact: NDArray[np.bool_]) -> pl.DataFrame:
    """accuracy and what goes with it; `exact` where every response is right or wrong and counts once."""
    ends = mean_ends(mean, se**2, n, n - 1, exact, LEVEL)
    columns = {"accuracy": mean, "accuracy_se": se, "accuracy_low": ends.low, "accuracy_high": ends.high,
               "n": n.astype(np.int64)}  # fmt: skip
    return pl.DataFrame(columns).with_columns(pl.exclude("n").fill_nan(None))
