"""What is wrong with samples by their texts alone: copies, keys that differ, keys that are no option."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.table.content import KeptContent

AT_ONCE = 5000  # samples whose texts are read
MOST_COPIES = 20  # more samples with one text: the text is a frame, and what is asked is elsewhere
UNDERSTOOD = 0.9  # share of samples whose key must be one of their options before one that is not is odd
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COPIES = {"sample": pl.Int64, "copy": pl.Int64, "exact": pl.Boolean, "same_key": pl.Boolean}


class TextFaults(NamedTuple):
    """`copies` has a row for each pair of samples with one text and the same options, in their order."""

    copies: pl.DataFrame  # COPIES
    duplicate: NDArray[np.bool_]
    keys_differ: NDArray[np.bool_]  # of copies, or of the files that the sample is in
    not_an_option: NDArray[np.bool_]


def text_faults(
    content: KeptContent | None, samples: Sequence[str], keys: Sequence[str | None] | None
) -> TextFaults | None:
    """Faults of texts; None where no sample has one. `keys` are used where the content has no reference."""
    if content is None:
        return None
    parts = [content.samples(samples[at : at + AT_ONCE]) for at in range(0, len(samples), AT_ONCE)]
    asked = pl.concat(parts).with_row_index("at")
    if keys is not None:
        own = pl.Series(keys, dtype=pl.String)
        asked = asked.with_columns(reference=pl.coalesce(own, pl.col("reference")))
    if asked["prompt"].null_count() == asked.height:
        return None
    copies = _copies(asked)
    n, pairs = len(samples), copies.select("sample", "copy").to_numpy()
    differ = copies.filter(~pl.col("same_key")).select("sample", "copy").to_numpy()
    duplicate, keys_differ = np.zeros((2, n), bool)
    duplicate[pairs.ravel()] = True
    keys_differ[differ.ravel()] = True
    keys_differ |= np.isin(samples, _with_several_references(content, samples))
    return TextFaults(copies, duplicate, keys_differ, _not_an_option(asked))


def _copies(asked: pl.DataFrame) -> pl.DataFrame:
    """Case, spaces and marks at the end do not count, nor does the order of options; an image does."""
    options = pl.col("choices").list.eval(_plain(pl.element())).list.sort().list.join("\x00")
    exact = [pl.col(name).fill_null("") for name in ("prompt", "image")]
    letter = pl.col("reference").str.strip_chars(" ().").str.len_chars() <= 1
    unknown = pl.col("choices").is_null() & letter.fill_null(value=False)  # options that differ, perhaps
    own = asked.filter(pl.col("prompt").is_not_null() & ~unknown).with_columns(
        text=pl.concat_str(_plain(pl.col("prompt")), options.fill_null(""), exact[1], separator="\x01"),
        spelled=pl.concat_str(*exact, pl.col("choices").list.join("\x00").fill_null(""), separator="\x01"),
        answer=_answer(),
    )
    groups = own.filter(pl.len().over("text").is_between(2, MOST_COPIES)).select(
        "at", "text", "spelled", "answer"
    )
    pairs = groups.join(groups, on="text", suffix="_copy").filter(pl.col("at") < pl.col("at_copy"))
    same = pl.col("answer").eq_missing(pl.col("answer_copy")) | pl.any_horizontal(
        pl.col("answer", "answer_copy").is_null()
    )
    return (
        pairs.select(
            sample=pl.col("at").cast(pl.Int64), copy=pl.col("at_copy").cast(pl.Int64),
            exact=pl.col("spelled") == pl.col("spelled_copy"), same_key=same,
        ).sort("sample", "copy")
    )  # fmt: skip


def _plain(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars(" .?!:;,")


def _place() -> pl.Expr:
    """The place of the option that a key names by its letter, else null."""
    letters = {letter: place for place, letter in enumerate(LETTERS)}
    letter = pl.col("reference").str.strip_chars(" ().").str.to_uppercase()
    place = letter.replace_strict(letters, default=None, return_dtype=pl.Int64)
    return pl.when(place < pl.col("choices").list.len()).then(place)


def _answer() -> pl.Expr:
    """The right answer as a text: the option that the key names by its letter, else the key."""
    return _plain(pl.coalesce(pl.col("choices").list.get(_place(), null_on_oob=True), pl.col("reference")))


def _not_an_option(asked: pl.DataFrame) -> NDArray[np.bool_]:
    """Samples whose key is neither the text, nor the letter or number, of one of their options."""
    number = pl.col("reference").str.strip_chars().cast(pl.Int64, strict=False)
    named = _place().is_not_null() | number.is_between(0, pl.col("choices").list.len())
    text = pl.col("choices").list.eval(_plain(pl.element())).list.contains(_plain(pl.col("reference")))
    known = asked.with_columns(
        known=pl.col("reference").is_not_null() & (pl.col("choices").list.len() > 1),
        listed=named.fill_null(value=False) | text.fill_null(value=False),
    ).select(pl.col("known").fill_null(value=False), "listed")
    told, listed = (known[name].to_numpy() for name in ("known", "listed"))
    faulty = np.asarray(told & ~listed)
    return faulty if faulty.mean() <= (1 - UNDERSTOOD) * float(told.mean()) else np.zeros(len(faulty), bool)


def _with_several_references(content: KeptContent, samples: Sequence[str]) -> list[str]:
    """Samples whose files give different right answers."""
    if len(content.sources) == 1:
        return []
    asked = pl.concat([one.source.asked(samples).select("sample", "reference") for one in content.sources])
    several = asked.drop_nulls().group_by("sample").agg(_plain(pl.col("reference")).n_unique().alias("n"))
    return several.filter(pl.col("n") > 1)["sample"].to_list()
