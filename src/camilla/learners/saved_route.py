"""A route: which learner is to answer a sample, from what is known of it; saved as a JSON file."""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.display import Grid, Part, Printable, brief, counted
from camilla.errors import DataError, FormatError, SettingError
from camilla.learners.costs import confidences_in
from camilla.learners.decision_files import ROUTE
from camilla.learners.expected import Expectation, Known, Neighbours, Regression, TaskMeans
from camilla.learners.frontier import chosen_at
from camilla.names import in_quotes, name_index, nearest, quoted, repeated
from camilla.table.columns import Origin, pick
from camilla.table.encoding import Encoder
from camilla.table.features import USUAL_NAMES, Features, Kind, features_in
from camilla.table.frame_files import called, frame_with_lines, read_frame
from camilla.table.frames import as_polars

WAYS = ("single", "by sample", "cascade")
_NEAR = ("x", "beyond", "answered")
LENGTH_OF = "characters of "  # a feature made from a text
CONFIDENCE = "confidence"
SAMPLE = "sample"  # the column of names that need not be there
TYPED = (".parquet", ".jsonl", ".ndjson", ".json")  # files that say of each cell what it is
MANY = 50_000  # numbers of an array beyond which it is saved with half precision
MOST_OF_HALF = 60_000.0


class Sight(NamedTuple):
    """How raw features become what a fit knows of samples."""

    encoder: Encoder | None
    tasks: tuple[str, ...]  # levels of the column of tasks
    task_column: str  # "task" or "skill"; empty without tasks

    def nothing(self, n: int) -> Known:
        """Samples of which nothing is known."""
        return Known(np.zeros((n, self.width)), np.full(n, -1, np.int64), len(self.tasks))

    def known(self, features: Features, rows: NDArray[np.integer] | None = None) -> Known:
        """Features of samples as columns and tasks."""
        part = features if rows is None else features.take(rows)
        n = len(part.names)
        x = np.zeros((n, 0)) if self.encoder is None else self.encoder.matrix(part)
        task = np.full(n, -1, np.int64)
        if self.task_column:
            place = name_index(self.tasks)
            named = part.frame[self.task_column].to_list()
            task = np.array([place.get(name, -1) for name in named], np.int64)
        return Known(x, task, len(self.tasks))

    @property
    def width(self) -> int:
        """How many columns of numbers features become."""
        return 0 if self.encoder is None else len(self.encoder.columns)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The columns that samples must have, as their file has them."""
        kinds = {} if self.encoder is None else dict(self.encoder.kinds)
        if self.task_column:
            kinds[self.task_column] = "category"
        return {name: kind for name, kind in kinds.items() if not name.startswith(LENGTH_OF)}


def sight_of(features: Features, task_column: str, rows: NDArray[np.integer] | None = None) -> Sight:
    """How to see samples, learned from some rows; what is constant there is left out."""
    part = features if rows is None else features.take(rows)
    tasks: tuple[str, ...] = ()
    if task_column:
        tasks = tuple(sorted(part.frame[task_column].drop_nulls().unique().to_list()))
    try:
        encoder = Encoder.fit(part)
    except DataError:  # nothing differs between these rows
        return Sight(None, (), "")
    return Sight(encoder, tasks, task_column if len(tasks) > 1 else "")


def with_lengths(features: Features) -> Features:
    """Beside each text the logarithm of its length, which TF-IDF does not know."""
    lengths = {
        LENGTH_OF + name: np.log1p(features.frame[name].fill_null("").str.len_chars().to_numpy())
        for name, kind in features.kinds.items()
        if kind == "text"
    }
    if not lengths:
        return features
    kinds: dict[str, Kind] = dict.fromkeys(lengths, "number")
    return features.beside(Features(features.names, pl.DataFrame(lengths), kinds, features.of))


class _Array(msgspec.Struct):
    shape: list[int]
    kind: str  # <f4, or <f2 of what is large and counts in sums alone
    data: str  # little-endian, zlib, base64


class _Saved(msgspec.Struct):
    """What the file holds; what else stands there is kept for readers."""

    format: str
    version: int
    way: str
    learners: list[str]
    costs: list[float]
    price: float
    single: str
    first: str = ""
    middle: list[float] = []
    means: list[float] = []
    contrast: dict[str, float] = {}
    common: dict[str, float] = {}
    neighbours: int = 0
    encoder: dict[str, Any] | None = None
    tasks: list[str] = []
    task_column: str = ""
    arrays: dict[str, _Array] = {}
    facts: dict[str, Any] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Route(Printable):
    """A rule that sends a sample to the learner with the largest expected response − price × cost.

    A route to a single learner needs no features. A cascade asks `first` always, and another learner if,
    given the confidence of the first, the other is expected to be worth its cost. `camilla.route` makes one.

    Parameters
    ----------
    way : {"single", "by sample", "cascade"}
        One learner for every sample, a learner per sample, or a second one where the first is doubtful.
    learners : tuple of str
        Names of the learners.
    costs : tuple of float
        The mean cost of an answer of each learner.
    price : float
        How much expected response one unit of cost must bring.
    single : str
        The best single learner; of a route to one learner, that one.
    expectation : Expectation, optional
        What predicts the responses of each learner.
    sight : Sight, optional
        How features are encoded.
    first : str
        The first learner of a cascade.
    middle : tuple of float
        Mean and standard deviation of its confidence.
    facts : mapping
        Expected quality and cost, and what the route was made from.

    Examples
    --------
    >>> route = camilla.Route("single", ("a", "b"), (1.0, 5.0), 0.0, "a")
    >>> route.choose({"sample": "new"})["learner"].to_list()
    ['a']
    """

    way: str  # "single", "by sample" or "cascade"
    learners: tuple[str, ...]
    costs: tuple[float, ...]  # mean cost of an answer of each learner
    price: float  # how much expected response one unit of cost must bring
    single: str  # the best single learner
    expectation: Expectation | None = None
    sight: Sight | None = None
    first: str = ""  # of a cascade
    middle: tuple[float, float] = (0.0, 1.0)  # mean and standard deviation of its confidence
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise SettingError(f"the way of a route is one of {', '.join(WAYS)}, not {self.way!r}.")
        if len(self.learners) != len(self.costs) or self.single not in self.learners:
            raise SettingError("a route has one cost per learner, and its single learner is one of them.")
        if twice := repeated(self.learners):
            raise SettingError(f"a route has each learner once; {quoted(twice)} is given more than once.")
        if not all(0 <= number < np.inf for number in (*self.costs, self.price)):
            raise SettingError("the costs and the price of a route are finite numbers from 0 on.")
        if self.way != "single" and (self.expectation is None or self.sight is None):
            raise SettingError(f"a route {self.way} needs expected responses.")
        if self.way == "cascade" and self.first not in self.learners:
            raise SettingError(f"the first of a cascade is one of its learners, not {self.first!r}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The features that a sample must have.

        Examples
        --------
        >>> camilla.Route("single", ("a", "b"), (1.0, 5.0), 0.0, "a").columns
        ()
        """
        return () if self.sight is None or self.way == "single" else tuple(self.sight.kinds)

    def parts(self) -> list[Part]:
        """Returns what `text` prints: learners with costs and mean responses, and the columns it needs.

        Returns
        -------
        list
            What is printed, a table and a sentence.

        Examples
        --------
        >>> camilla.Route("single", ("a", "b"), (1.0, 5.0), 0.0, "a").parts()[0].title
        'Every sample goes to a'
        """
        frame = pl.DataFrame({"learner": self.learners, "cost": self.costs})
        if self.expectation is not None:
            frame = frame.with_columns(mean=pl.Series(self.expectation.means))
        title = {
            "single": f"Every sample goes to {brief(self.single)}",
            "by sample": f"A learner per sample, from {counted(len(self.learners), 'learner')}",
            "cascade": f"{brief(self.first)} first, then another where its answer is doubtful",
        }[self.way]
        needs = f"It needs to know of a sample: {quoted(self.columns)}." if self.columns else ""
        return [Grid(title, frame), *([needs] if needs else [])]

    def choose(self, samples: Any, *, sample: str = "sample") -> pl.DataFrame:
        """Chooses the learner that should answer each sample.

        Parameters
        ----------
        samples : dataframe, path or dict
            One row per sample with the columns in `columns`; a dict of them is one sample. For a cascade a
            column confidence says how sure its first learner was; without it, or where it is missing, the
            first learner is to be asked.
        sample : str
            What the column of names is called, if there is one; else samples are numbered.

        Returns
        -------
        polars.DataFrame
            `sample`, `learner`, `expected` (response) and `cost` of its answer; for a cascade `asked`, which
            learners are asked in all.

        Raises
        ------
        DataError
            A column is not there or cannot be read.

        Examples
        --------
        >>> table, names = camilla.digits(), ("tree 4", "logistic shrunk")
        >>> table = table.take_learners([table.learners.index(name) for name in names])
        >>> routing = camilla.route(table, methods=["tasks"], portfolio=())
        >>> routing.route.choose(pl.DataFrame({"skill": ["0", "1"]}))["learner"].to_list()
        ['tree 4', 'logistic shrunk']
        """
        frame, origin = _rows(samples)
        names = _names(frame, sample, origin)
        if self.way == "single":
            return self._frame(names, np.full(len(names), self.learners.index(self.single)), None)
        assert self.sight is not None
        assert self.expectation is not None
        features = _features(frame, self.sight.kinds, origin)
        known = self.sight.known(features) if features is not None else self.sight.nothing(len(names))
        if self.way == "cascade":
            return self._cascade(known, _confidence(frame, origin), names)
        expected = self.expectation.expected(known)
        chosen = chosen_at(expected, np.asarray(self.costs), self.price)
        return self._frame(names, chosen, expected)

    def _cascade(self, known: Known, sure: Floats, names: list[str]) -> pl.DataFrame:
        """The first learner where its confidence is not known yet, or where it is worth staying with."""
        assert self.expectation is not None
        at = self.learners.index(self.first)
        seen = ~np.isnan(sure)
        expected = self.expectation.expected(with_confidence(known, sure, self.middle))
        costs = cascade_costs(np.asarray(self.costs), at)
        chosen = np.where(seen, chosen_at(expected, costs, self.price), at)
        shown = np.where(seen[None], expected, np.nan)
        found = self._frame(names, chosen, shown)
        asked = [self.first if i == at else f"{self.first}, {self.learners[i]}" for i in chosen]
        cost = pl.Series(costs[chosen])
        return found.with_columns(cost=cost, asked=pl.Series(asked, dtype=pl.String))

    def _frame(self, names: list[str], chosen: NDArray[np.integer], expected: Floats | None) -> pl.DataFrame:
        means = None if self.expectation is None else self.expectation.means[chosen]
        values = means if expected is None else expected[chosen, np.arange(len(chosen))]
        frame = pl.DataFrame(
            {
                "sample": pl.Series(names, dtype=pl.String),
                "learner": pl.Series([self.learners[i] for i in chosen], dtype=pl.String),
                "expected": pl.Series([None] * len(names) if values is None else values, dtype=pl.Float64),
                "cost": pl.Series([self.costs[i] for i in chosen], dtype=pl.Float64),
            }
        )
        return frame.with_columns(pl.col("expected").fill_nan(None))

    def to_document(self) -> dict[str, Any]:
        """The content of the file.

        Returns
        -------
        dict
            Plain data, ready for JSON.

        Examples
        --------
        >>> camilla.Route("single", ("a", "b"), (1.0, 5.0), 0.0, "a").to_document()["learners"]
        ['a', 'b']
        """
        saved = _Saved(
            ROUTE.format, ROUTE.version, self.way, list(self.learners), list(map(float, self.costs)),
            self.price, self.single, self.first, list(self.middle), facts=dict(self.facts),
        )  # fmt: skip
        if self.expectation is not None:
            saved.means = self.expectation.means.tolist()
        if self.way != "single" and self.expectation is not None and self.sight is not None:
            _keep(saved, self.expectation, self.sight)
        document: dict[str, Any] = msgspec.to_builtins(saved)
        return document

    def save(self, path: str | Path) -> Path:
        """Writes the route as JSON; the file is written completely or not at all.

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
        >>> camilla.Route("single", ("a", "b"), (1.0, 5.0), 0.0, "a").save("route.json").name
        'route.json'
        """
        return ROUTE.write(path, self.to_document())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a route back; a damaged or newer file is refused.

        Parameters
        ----------
        path : str or Path
            A file that `save` or `camilla route -o` wrote.

        Returns
        -------
        Route
            The route as it was saved.

        Raises
        ------
        FormatError
            The file is not a route, or one of a newer version.

        Examples
        --------
        >>> path = camilla.Route("single", ("a", "b"), (1.0, 5.0), 0.0, "a").save("route.json")
        >>> camilla.Route.load(path).single
        'a'
        """
        return ROUTE.read(path, _Saved, lambda saved: cls(**_fields(saved)))


def with_confidence(known: Known, sure: Floats, middle: tuple[float, float]) -> Known:
    """How sure the first learner was, and its square, beside the features; the mean where it is not known."""
    mean, spread = middle
    z = np.nan_to_num((sure - mean) / spread)
    return known._replace(x=np.column_stack((known.x, z, (z**2 - 1) / 2)))


def cascade_costs(costs: Floats, first: int) -> Floats:
    """What a sample costs that ends at each learner: the first is always paid."""
    out = costs + costs[first]
    out[first] = costs[first]
    return out


def _rows(samples: Any) -> tuple[pl.DataFrame, Origin]:
    """The samples as a frame; cells of a text file are as they are written, as when the route was made."""
    if isinstance(samples, str | Path):
        path = Path(samples)
        text = path.suffix.lower() not in TYPED
        frame, place = frame_with_lines(read_frame(path, text=text), path)
        return frame, Origin(called(path), place)
    if isinstance(samples, Mapping):
        return pl.DataFrame({str(name): [value] for name, value in samples.items()}), Origin("the sample")
    return as_polars(samples), Origin("the samples")


def _names(frame: pl.DataFrame, sample: str, origin: Origin) -> list[str]:
    if sample not in (*frame.columns, SAMPLE):
        raise DataError(
            f"{origin.name}: no column {in_quotes(sample)} that names the samples. "
            f"{nearest(sample, frame.columns)}"
        )
    column = next((name for name in (sample, *USUAL_NAMES["sample"]) if name in frame.columns), None)
    if column is None:
        return [str(number + 1) for number in range(frame.height)]
    names = frame[column].cast(pl.String).to_list()
    return [str(number + 1) if name is None else name for number, name in enumerate(names)]


def _features(frame: pl.DataFrame, kinds: Mapping[str, Kind], origin: Origin) -> Features | None:
    """The columns a route needs, of the kinds that it was made with."""
    if not kinds:
        return None
    if absent := [name for name in kinds if name not in frame.columns]:
        raise DataError(
            f"{origin.name}: no column {in_quotes(absent[0])}, which the route needs to choose a learner. "
            f"{nearest(absent[0], frame.columns)} Add the column; leave cells empty where it is not known."
        )
    if not frame.height:
        return None
    rows = frame.select(list(kinds)).with_row_index("\0at").with_columns(pl.col("\0at").cast(pl.String))
    plain = {name: kind for name, kind in kinds.items() if frame[name].null_count() < frame.height}
    missing = [name for name in kinds if name not in plain]
    fields = features_in(rows, "\0at", list(plain), plain, "sample", origin)
    found = Features(*fields)
    for name in missing:  # not known of any of these samples
        kind = kinds[name]
        if kind == "vector":
            raise DataError(
                f"{origin.name}: column {in_quotes(name)} is empty; expected a vector per sample."
            )
        empty = pl.DataFrame({name: [None] * frame.height},
                             schema={name: pl.Float64 if kind == "number" else pl.String})  # fmt: skip
        found = found.beside(Features(found.names, empty, {name: kind}))
    return with_lengths(found)


def _confidence(frame: pl.DataFrame, origin: Origin) -> Floats:
    """How sure the first learner was of each sample; NaN where that is not known."""
    if CONFIDENCE not in frame.columns:
        return np.full(frame.height, np.nan)
    return confidences_in(pick(frame, CONFIDENCE, origin), origin).fill_null(float("nan")).to_numpy()


def _packed(values: Any) -> _Array:
    """Half precision where there are many numbers: each is then right to 1 in 2,000."""
    small = np.size(values) <= MANY or np.abs(values).max() > MOST_OF_HALF
    array = np.asarray(values, "<f4" if small else "<f2")
    data = base64.b64encode(zlib.compress(array.tobytes(), 6)).decode()
    return _Array(list(array.shape), array.dtype.str, data)


def _unpacked(saved: _Array) -> Floats:
    if saved.kind not in ("<f4", "<f2"):
        raise FormatError(f"numbers of kind {saved.kind!r} are not known.")
    data = zlib.decompress(base64.b64decode(saved.data, validate=True))
    return np.frombuffer(data, saved.kind).reshape(saved.shape).astype(np.float64)


def _keep(saved: _Saved, expectation: Expectation, sight: Sight) -> None:
    """Puts a fit into what is saved."""
    saved.contrast, saved.common = expectation.contrast, expectation.common
    for name, method in expectation.methods.items():
        for part, values in method._asdict().items():
            if isinstance(values, np.ndarray):
                saved.arrays[f"{name}.{part}"] = _packed(values)
        if isinstance(method, Neighbours):
            saved.neighbours = method.nearest
    saved.tasks, saved.task_column = list(sight.tasks), sight.task_column
    if sight.encoder is not None:
        saved.encoder = sight.encoder.document()
        for name, values in sight.encoder.arrays.items():
            saved.arrays[f"encoder.{name}"] = _packed(values)


def _fields(saved: _Saved) -> dict[str, Any]:
    """The fields of a route that was saved."""
    arrays = {name: _unpacked(one) for name, one in saved.arrays.items()}
    expectation = sight = None
    if len(saved.means) not in (
        (0, len(saved.learners)) if saved.way == "single" else (len(saved.learners),)
    ):
        raise FormatError("it has not one mean per learner.")
    if saved.means:
        expectation = Expectation(np.array(saved.means), {}, saved.contrast, saved.common)
    if saved.way != "single" and expectation is not None:
        expectation = expectation._replace(methods=_methods(saved, arrays))
        inside = {
            name.removeprefix("encoder."): one for name, one in arrays.items() if name.startswith("encoder.")
        }
        encoder = None if saved.encoder is None else Encoder.restored(saved.encoder, inside)
        sight = Sight(encoder, tuple(saved.tasks), saved.task_column)
        _check_sizes(saved, sight, arrays)
    middle = (saved.middle[0], saved.middle[1]) if saved.middle else (0.0, 1.0)
    if not middle[1] > 0:
        raise FormatError("the standard deviation of its confidence is not above 0.")
    return {
        "way": saved.way, "learners": tuple(saved.learners), "costs": tuple(saved.costs),
        "price": saved.price, "single": saved.single, "expectation": expectation, "sight": sight,
        "first": saved.first, "middle": middle, "facts": saved.facts,
    }  # fmt: skip


def _check_sizes(saved: _Saved, sight: Sight, arrays: Mapping[str, Floats]) -> None:
    """Whether every method has numbers for these learners, tasks and features."""
    learners, tasks = len(saved.learners), len(saved.tasks)
    columns = sight.width + (2 if saved.way == "cascade" else 0)
    near = len(arrays["neighbours.x"]) if "neighbours.x" in arrays else 0
    wanted = {
        "tasks.deviation": (learners, tasks),
        "regression.intercept": (learners,),
        "regression.weights": (learners, columns),
        "regression.means": (learners,),
        "neighbours.x": (near, columns),
        "neighbours.beyond": (learners, near),
        "neighbours.answered": (learners, near),
    }
    for name, shape in wanted.items():
        if name in arrays and arrays[name].shape != shape:
            raise FormatError(f"{name} has the shape {arrays[name].shape}; expected {shape}.")
    if near and saved.neighbours < 1:
        raise FormatError(f"it asks {saved.neighbours} neighbours; expected at least one.")


def _methods(saved: _Saved, arrays: Mapping[str, Floats]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, kind in (("tasks", TaskMeans), ("regression", Regression)):
        if f"{name}.{kind._fields[0]}" in arrays:
            out[name] = kind(*(arrays[f"{name}.{part}"] for part in kind._fields))
    if "neighbours.x" in arrays:
        x, beyond, answered = (arrays[f"neighbours.{part}"].astype(np.float32) for part in _NEAR)
        out["neighbours"] = Neighbours(x, beyond, answered, saved.neighbours)
    weighed = {name for part in (saved.contrast, saved.common) for name, weight in part.items() if weight}
    if absent := sorted(weighed - set(out)):
        raise FormatError(f"it has lost the numbers of {absent[0]}.")
    if absent := [name for name in out if name not in saved.contrast or name not in saved.common]:
        raise FormatError(f"it has no weight of {absent[0]}.")
    return out
