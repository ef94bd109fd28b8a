"""Features as columns of numbers: fitted on some rows, applied to any, saved as plain data."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, FormatError
from camilla.extras import needing
from camilla.names import in_quotes, name_index, nearest, quoted
from camilla.table.features import Features, Kind

Floats = NDArray[np.float64]
TOKEN = re.compile(r"\b\w\w+\b")  # as scikit-learn's vectorizer reads words
NGRAMS = (1, 2)
MOST_WORDS = 20_000
COMPONENTS = 50  # of the singular value decomposition of texts
MISSING = "(missing)"
ANOTHER = "(another)"  # a category that the fitted rows do not have


class NumberCoding(msgspec.Struct, frozen=True, tag="number"):
    """(x − mean) / sd; a missing number is the mean."""

    column: str
    mean: float
    sd: float


class MarkCoding(msgspec.Struct, frozen=True, tag="mark"):
    """Whether a number is missing, standardised."""

    column: str
    mean: float
    sd: float


class CategoryCoding(msgspec.Struct, frozen=True, tag="category"):
    """One column per level and one for any other, less their shares, over the root of their variance."""

    column: str
    levels: tuple[str, ...]
    shares: tuple[float, ...]
    scale: float


class TextCoding(msgspec.Struct, frozen=True, tag="text"):
    """TF-IDF in the directions of a truncated singular value decomposition; arrays are kept apart."""

    column: str
    words: tuple[str, ...]
    scale: float


class VectorCoding(msgspec.Struct, frozen=True, tag="vector"):
    """A vector less its mean, over the root of its total variance; arrays are kept apart."""

    column: str
    length: int
    scale: float


Coding = NumberCoding | MarkCoding | CategoryCoding | TextCoding | VectorCoding


class _Document(msgspec.Struct):
    of: str
    codings: list[Coding]
    notes: list[str] = []


@dataclass(frozen=True, eq=False)
class Encoder:
    """Features → columns of numbers. Each block, what one feature becomes, has mean 0 and total variance 1.

    A weight of standard deviation τ on each column of a block then explains τ² of the variance, whatever the
    feature's unit and however many columns it became. `arrays` holds what is too long for JSON.
    """

    codings: tuple[Coding, ...]
    arrays: Mapping[str, Floats]
    of: str = "sample"
    notes: tuple[str, ...] = ()

    @classmethod
    def fit(cls, features: Features, rows: NDArray[np.integer] | None = None) -> Self:
        """Learns means, levels and words from some rows; columns that are constant there are left out."""
        part = features if rows is None else features.take(rows)
        codings, arrays, notes = list[Coding](), dict[str, Floats](), list[str]()
        for column, kind in part.kinds.items():
            found = _FITTED[kind](column, part.frame[column])
            codings += found.codings
            arrays |= {f"{column}.{name}": values for name, values in found.arrays.items()}
            if not found.codings:
                notes.append(
                    f"{features.source}: {in_quotes(column)} is the same for all {len(part.names)} "
                    f"{features.of}s that are fitted; left out"
                )
        if not codings:
            raise DataError(
                f"{features.source}: no feature differs between the {len(part.names)} {features.of}s that "
                "are fitted, so nothing can be learned from them. Name other columns."
            )
        return cls(tuple(codings), arrays, features.of, tuple(notes))

    @property
    def kinds(self) -> dict[str, Kind]:
        """The columns that features must have, and their kinds."""
        return {one.column: _kind(one) for one in self.codings}

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each column of the matrix."""
        return tuple(name for one in self.codings for name in self._names(one))

    @property
    def feature(self) -> tuple[str, ...]:
        """The feature that each column of the matrix came from."""
        return tuple(one.column for one in self.codings for _ in self._names(one))

    def _names(self, coding: Coding) -> list[str]:
        match coding:
            case CategoryCoding(column, levels):
                return [f"{column}={level}" for level in (*levels, ANOTHER)]
            case TextCoding(column):
                return [f"{column}[{k}]" for k in range(len(self.arrays[f"{column}.centre"]))]
            case VectorCoding(column, length):
                return [f"{column}[{k}]" for k in range(length)]
            case MarkCoding(column):
                return [f"{column} is missing"]
            case _:
                return [coding.column]

    def matrix(self, features: Features, rows: NDArray[np.integer] | None = None) -> Floats:
        """[rows, columns]"""
        part = features if rows is None else features.take(rows)
        if part.of != self.of:
            raise DataError(f"expected features of {self.of}s; {part.source} are of {part.of}s.")
        for column, kind in self.kinds.items():
            if column not in part.kinds:
                raise DataError(
                    f"{part.source}: no column {in_quotes(column)}, which was fitted on. "
                    f"{nearest(column, list(part.kinds))}"
                )
            if part.kinds[column] != kind:
                raise DataError(
                    f"{part.source}: {in_quotes(column)} is a {part.kinds[column]}; a {kind} was fitted on."
                )
        return np.hstack([self._coded(one, part.frame[one.column], part.source) for one in self.codings])

    def unknown_categories(self, features: Features) -> list[str]:
        """A note for each column with categories that no fitted row has."""
        notes = []
        for one in self.codings:
            if isinstance(one, CategoryCoding):
                given = features.frame[one.column].fill_null(MISSING).unique().sort().to_list()
                if new := [value for value in given if value not in one.levels]:
                    notes.append(
                        f"{features.source}: nothing is known of {in_quotes(one.column)} {quoted(new)}, "
                        f"which no fitted {features.of} has"
                    )
        return notes

    def _coded(self, coding: Coding, series: pl.Series, source: str) -> Floats:
        match coding:
            case NumberCoding(_, mean, sd):
                return ((series.fill_null(mean).to_numpy() - mean) / sd)[:, None]
            case MarkCoding(_, mean, sd):
                return ((series.is_null().to_numpy() - mean) / sd)[:, None]
            case CategoryCoding(_, levels, shares, scale):
                return _one_hot(series, levels, shares) / scale
            case TextCoding(column, words, scale):
                arrays = {name: self.arrays[f"{column}.{name}"] for name in ("idf", "components", "centre")}
                weights = _tf_idf(series, words, arrays["idf"])
                return (weights @ arrays["components"].T - arrays["centre"]) / scale
            case VectorCoding(column, length, scale):
                values = _as_matrix(series)
                if values.shape[1] != length:
                    raise DataError(
                        f"{source}: vectors of {in_quotes(column)} have {values.shape[1]} numbers; those "
                        f"fitted on have {length}. Make them in the same way."
                    )
                return (values - self.arrays[f"{column}.centre"]) / scale

    def document(self) -> dict[str, Any]:
        """All but the arrays, as plain data."""
        return msgspec.to_builtins(_Document(self.of, list(self.codings), list(self.notes)))

    @classmethod
    def restored(cls, document: Mapping[str, Any], arrays: Mapping[str, Floats]) -> Self:
        """What `document` and `arrays` of an encoder make again."""
        try:
            plain = msgspec.convert(document, _Document)
        except msgspec.ValidationError as error:
            raise FormatError(f"the saved encoding of features is damaged: {error}.") from error
        found = cls(tuple(plain.codings), dict(arrays), plain.of, tuple(plain.notes))
        wanted = {name for one in plain.codings for name in _arrays_of(one)}
        if absent := sorted(wanted - set(arrays)):
            raise FormatError(f"the saved encoding of features has lost {in_quotes(absent[0])}.")
        if not plain.codings:
            raise FormatError("the saved encoding of features has no feature.")
        if wrong := [one.column for one in plain.codings if not _fits(one, arrays)]:
            raise FormatError(
                f"the saved encoding of features is damaged: the numbers of {in_quotes(wrong[0])} are of "
                "another size than its words or levels."
            )
        return found


class _Fitted(NamedTuple):
    codings: tuple[Coding, ...]
    arrays: Mapping[str, Floats] = {}


def _fit_number(column: str, series: pl.Series) -> _Fitted:
    codings = list[Coding]()
    given = series.drop_nulls().to_numpy()
    filled = series.fill_null(given.mean() if len(given) else 0.0).to_numpy()
    if filled.std() > 1e-12 * max(abs(filled.mean()), 1e-300):
        codings.append(NumberCoding(column, float(filled.mean()), float(filled.std())))
    absent = series.is_null().to_numpy()
    if 0 < absent.sum() < len(absent):
        codings.append(MarkCoding(column, float(absent.mean()), float(absent.std())))
    return _Fitted(tuple(codings))


def _fit_category(column: str, series: pl.Series) -> _Fitted:
    values = series.fill_null(MISSING)
    levels = tuple(sorted(values.unique()))
    if len(levels) < 2:
        return _Fitted(())
    shares = np.array([(values == level).mean() for level in levels], np.float64)
    scale = float(np.sqrt(1 - (shares**2).sum()))
    return _Fitted((CategoryCoding(column, levels, tuple(shares.tolist()), scale),))


def _fit_vector(column: str, series: pl.Series) -> _Fitted:
    values = _as_matrix(series)
    scale = float(np.sqrt(values.var(axis=0).sum()))
    if scale <= 1e-12 * max(float(np.abs(values).max(initial=0)), 1e-300):
        return _Fitted(())
    return _Fitted((VectorCoding(column, values.shape[1], scale),), {"centre": values.mean(axis=0)})


def _fit_text(column: str, series: pl.Series) -> _Fitted:
    """Words and pairs of words in two texts or more; their leading directions."""
    with needing("reading columns of text as features", extra="text"):
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

    texts = series.fill_null("").to_list()
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, ngram_range=NGRAMS, max_features=MOST_WORDS, min_df=min(2, len(texts))
    )
    try:
        weights = vectorizer.fit_transform(texts)
    except ValueError as error:  # no word is left
        raise DataError(
            f"column {in_quotes(column)}: no word occurs in two of its {len(texts)} texts, so nothing can be "
            "learned from them. Leave the column out."
        ) from error
    words = tuple(str(word) for word in vectorizer.get_feature_names_out())
    n_components = min(COMPONENTS, len(words) - 1, len(texts) - 1)
    if n_components < 1:
        return _Fitted(())
    svd = TruncatedSVD(n_components, random_state=0).fit(weights)
    values = weights @ svd.components_.T
    scale = float(np.sqrt(values.var(axis=0).sum()))
    if scale <= 1e-9:
        return _Fitted(())
    arrays = {"idf": vectorizer.idf_, "components": svd.components_, "centre": values.mean(axis=0)}
    return _Fitted((TextCoding(column, words, scale),), arrays)


_FITTED = {"number": _fit_number, "category": _fit_category, "text": _fit_text, "vector": _fit_vector}


def _kind(coding: Coding) -> Kind:
    match coding:
        case CategoryCoding():
            return "category"
        case TextCoding():
            return "text"
        case VectorCoding():
            return "vector"
        case _:
            return "number"


def _arrays_of(coding: Coding) -> list[str]:
    match coding:
        case TextCoding(column):
            return [f"{column}.{name}" for name in ("idf", "components", "centre")]
        case VectorCoding(column):
            return [f"{column}.centre"]
        case _:
            return []


def _fits(coding: Coding, arrays: Mapping[str, Floats]) -> bool:
    """Whether the numbers of a coding belong together."""
    shapes = [arrays[name].shape for name in _arrays_of(coding)]
    match coding:
        case CategoryCoding(_, levels, shares):
            return len(levels) == len(shares)
        case TextCoding(_, words):
            idf, components, centre = shapes
            return idf == (len(words),) and components == (*centre, len(words))
        case VectorCoding(_, length):
            return shapes == [(length,)]
        case _:
            return True


def _one_hot(series: pl.Series, levels: Sequence[str], shares: Sequence[float]) -> Floats:
    """One column per level, the last for any other level, less the shares."""
    place = name_index(levels)
    codes = [place.get(value, len(levels)) for value in series.fill_null(MISSING)]
    hot = np.zeros((len(codes), len(levels) + 1))
    hot[np.arange(len(codes)), codes] = 1
    return hot - np.append(shares, 0.0)


def _as_matrix(series: pl.Series) -> Floats:
    return np.array(series.to_list(), np.float64).reshape(len(series), -1)


def _tf_idf(series: pl.Series, words: Sequence[str], idf: Floats) -> Any:
    """(1 + ln count) · idf of each word, rows of length 1; what scikit-learn's vectorizer gives."""
    from scipy.sparse import csr_array

    place = name_index(words)
    values, columns, starts = list[float](), list[int](), [0]
    for text in series.fill_null(""):
        tokens = TOKEN.findall(text.lower())
        pairs = [f"{first} {second}" for first, second in pairwise(tokens)]
        counts = Counter(place[word] for word in (*tokens, *pairs) if word in place)
        at = np.array(sorted(counts), np.int64)
        weight = (1 + np.log([counts[k] for k in at])) * idf[at] if len(at) else np.empty(0)
        values += (weight / max(float(np.sqrt((weight**2).sum())), 1e-300)).tolist()
        columns += at.tolist()
        starts.append(len(columns))
    return csr_array((values, columns, starts), shape=(len(series), len(words)))
