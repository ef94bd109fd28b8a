"""What samples ask and what learners answered: kept in Parquet files, read and shown a few at a time."""

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import polars as pl

from camilla.display import Excerpt, Part
from camilla.errors import DataError, FormatError
from camilla.table.files import unwritable_reason, whole_file
from camilla.table.frame_files import UNREADABLE, literally

LONGEST = 20_000  # characters of a field that are kept
ASKED: dict[str, Any] = {
    "prompt": pl.String,
    "reference": pl.String,
    "choices": pl.List(pl.String),
    "image": pl.String,
}
ANSWERED: dict[str, Any] = {"answer": pl.String, "extracted": pl.String, "reason": pl.String}
SCHEMA: dict[str, Any] = {"sample": pl.String, "learner": pl.String, "trial": pl.Int32} | ASKED | ANSWERED
ENDING = ".content.parquet"
KEY = "camilla content"  # in the metadata of the file
ROW_GROUP = 1000  # rows, which is what is read to find one sample
BLOCK = 32 << 20  # bytes, estimated, that are in memory at once
SHRINKING = 4  # of text in a Parquet file, about
SHORT = 40  # characters of an answer that can be counted like a vote


def cut(text: str) -> str:
    """A text of at most LONGEST characters: of a longer one the middle goes, and a mark says so.

    Worked examples stand before a question, and reasoning before an answer, so the end matters too.
    """
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2 - 20
    return f"{text[:half]} … [{len(text) - 2 * half:,} characters cut] … {text[-half:]}"


def encodable(text: str) -> str:
    """The text with halves of surrogate pairs spelled out: no file can hold them."""
    return text.encode("utf-8", "backslashreplace").decode()


class SampleContent(NamedTuple):
    """What one sample asks: untrusted text, "" where nothing is known."""

    sample: str
    prompt: str = ""
    reference: str = ""
    choices: tuple[str, ...] = ()
    image: str = ""  # a path or link


class ContentSource(Protocol):
    """A place that holds content: rows of SCHEMA, those without a learner being what a sample asks."""

    @property
    def size(self) -> int:
        """Bytes, about, once read."""
        ...

    def counts(self) -> pl.DataFrame:
        """sample, rows: at least how many rows each sample has."""
        ...

    def asked(self, samples: Sequence[str]) -> pl.DataFrame:
        """What these samples ask: sample and the columns of ASKED, at most one row each."""
        ...

    def answers(self, samples: Sequence[str]) -> pl.DataFrame:
        """What learners answered to these samples: sample, learner, trial and the columns of ANSWERED."""
        ...


class ContentOf(NamedTuple):
    """A source, and what its learners are called by now, where that is another name."""

    source: ContentSource
    learners: Mapping[str, str]

    def answers(self, samples: Sequence[str]) -> pl.DataFrame:
        """What the source has, under the names of now."""
        frame = self.source.answers(samples)
        return frame.with_columns(pl.col("learner").replace(self.learners)) if self.learners else frame


@dataclass(frozen=True, eq=False)
class KeptContent:
    """Prompts, references, choices and images of samples; answers of learners and reasons of their judges.

    Nothing is in memory: each call reads what it is asked for. All of it is untrusted text, cut to LONGEST
    characters per field.
    """

    sources: tuple[ContentOf, ...]

    def sample(self, name: str) -> SampleContent | None:
        """What a sample asks; None where nothing is known of it."""
        row = self.samples([name]).row(0, named=True)
        if all(row[field] is None for field in ASKED):
            return None
        texts = {field: row[field] or "" for field in ("prompt", "reference", "image")}
        return SampleContent(name, choices=tuple(row["choices"] or ()), **texts)

    def samples(self, names: Iterable[str]) -> pl.DataFrame:
        """sample, prompt, reference, choices, image: one row per name, in the order of the names."""
        wanted = pl.DataFrame({"sample": list(names)}, schema={"sample": pl.String})
        asked = self._asked(wanted["sample"].to_list())
        return wanted.join(asked, on="sample", how="left", maintain_order="left")

    def _asked(self, samples: Sequence[str]) -> pl.DataFrame:
        found = pl.concat([one.source.asked(samples) for one in self.sources])
        return found.unique("sample", keep="first", maintain_order=True) if len(self.sources) > 1 else found

    def answers(self, name: str) -> pl.DataFrame:
        """learner, trial, answer, extracted, reason; the trial is null where the table has no response."""
        return self._answers([name]).select("learner", "trial", *ANSWERED)

    def _answers(self, samples: Sequence[str]) -> pl.DataFrame:
        found = pl.concat([one.answers(samples) for one in self.sources])
        return found.sort("sample", "learner", "trial", nulls_last=True, maintain_order=True)

    def rows(self, samples: Sequence[str]) -> pl.DataFrame:
        """Rows of SCHEMA by sample, learner and trial; the first of a sample, without a learner, asks."""
        parts = [pl.DataFrame(schema=SCHEMA), self._asked(samples), self._answers(samples)]
        found = pl.concat(parts, how="diagonal")
        return found.sort("sample", pl.col("learner").is_not_null(), maintain_order=True)

    def blocks(self, samples: Collection[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows of all samples, or of these, in the order of their names, some megabytes at a time."""
        counts = pl.concat([one.source.counts() for one in self.sources])
        counts = counts.group_by("sample").agg(pl.col("rows").sum()).sort("sample")
        if samples is not None:
            counts = counts.filter(
                pl.col("sample").is_in(pl.Series(list(samples), dtype=pl.String).implode())
            )
        if counts.height == 0:
            return
        per_row = max(sum(one.source.size for one in self.sources) / max(counts["rows"].sum(), 1), 1.0)
        number = (counts["rows"].cum_sum() - counts["rows"]) // max(int(BLOCK / per_row), 1)
        for part in counts.with_columns(block=number).partition_by("block", maintain_order=True):
            yield self.rows(part["sample"].to_list())

    def called(self, learners: Mapping[str, str]) -> "KeptContent":
        """The same under other names of learners: {old: new}."""
        return replace(
            self,
            sources=tuple(
                ContentOf(
                    one.source,
                    {**learners, **{old: learners.get(new, new) for old, new in one.learners.items()}},
                )
                for one in self.sources
            ),
        )

    def together(self, other: "KeptContent | None") -> "KeptContent":
        """The content of both; of a sample in both the first counts."""
        return self if other is None else KeptContent(self.sources + other.sources)

    def short_answers(self, samples: Collection[str]) -> pl.DataFrame:
        """sample, learner, trial, answer: what was extracted, or else the answer, where all are short.

        A sample with a long answer is left out: votes for a text that only one learner can give say nothing.
        """
        columns = ("sample", "learner", "trial", "answer")
        found = [pl.DataFrame(schema={name: SCHEMA[name] for name in columns})]
        for block in self.blocks(samples):
            said = pl.coalesce("extracted", "answer").str.strip_chars().alias("answer")
            rows = block.filter(pl.col("trial").is_not_null()).select("sample", "learner", "trial", said)
            rows = rows.filter(pl.col("answer").str.len_chars() > 0)
            found.append(rows.filter((pl.col("answer").str.len_chars() <= SHORT).all().over("sample")))
        return pl.concat(found)

    def write(self, path: Path, *, samples: Collection[str], learners: Collection[str], of: str = "") -> Path:
        """The content of these samples and learners as one Parquet file, sorted by sample.

        `of` says of which table it is: the SHA-256 of that file.
        """
        from polars.io.plugins import register_io_source

        known = pl.Series(list(learners), dtype=pl.String).implode()

        def source(*_: Any) -> Iterator[pl.DataFrame]:
            for block in self.blocks(samples):
                yield block.filter(pl.col("learner").is_null() | pl.col("learner").is_in(known))

        rows = register_io_source(source, schema=SCHEMA)
        with whole_file(path) as draft:
            rows.sink_parquet(
                draft, row_group_size=ROW_GROUP, metadata={KEY: of}, compression="zstd", compression_level=1
            )
        return path


class ContentFile:
    """A Parquet file of SCHEMA, sorted by sample; `keeper` is held so that its folder stays."""

    def __init__(self, path: Path, keeper: object = None) -> None:
        self.path = path
        self.keeper = keeper

    @property
    def size(self) -> int:
        return SHRINKING * self.path.stat().st_size

    def counts(self) -> pl.DataFrame:
        return self._read(
            pl.scan_parquet(literally(self.path)).group_by("sample").agg(rows=pl.len().cast(pl.Int64))
        )

    def asked(self, samples: Sequence[str]) -> pl.DataFrame:
        rows = of_samples(pl.scan_parquet(literally(self.path)), samples)
        return self._read(rows.filter(pl.col("learner").is_null()).select("sample", *ASKED))

    def answers(self, samples: Sequence[str]) -> pl.DataFrame:
        rows = of_samples(pl.scan_parquet(literally(self.path)), samples)
        telling = rows.filter(pl.col("learner").is_not_null())
        return self._read(telling.select("sample", "learner", "trial", *ANSWERED))

    def _read(self, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.collect()
        except UNREADABLE as error:
            reason = (str(error).splitlines() or ["no reason given"])[0][:160]
            raise FormatError(
                f"{self.path}: what samples ask and learners answered cannot be read: {reason}. The file is "
                "damaged or gone: write it again, or do without it: --no-content (content=False)."
            ) from error


def of_samples(frame: pl.LazyFrame, samples: Sequence[str]) -> pl.LazyFrame:
    """The rows of these samples; what lies outside their range is not unpacked, for files are sorted."""
    name = pl.col("sample")
    if not samples:
        return frame.filter(pl.lit(value=False))
    if len(samples) == 1:
        return frame.filter(name == samples[0])
    within = name.is_between(pl.lit(min(samples)), pl.lit(max(samples)))
    return frame.filter(within, name.is_in(pl.Series(samples, dtype=pl.String).implode()))


def beside(path: Path) -> Path:
    """Where the content of a table file lies: responses.content.parquet beside responses.csv."""
    return path.with_name(f"{path.stem}{ENDING}")


def sha_of(path: Path) -> str:
    """SHA-256 of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Beside(NamedTuple):
    """The content beside a table file, or why it is left out."""

    content: KeptContent | None = None
    note: str = ""


def content_beside(path: Path) -> Beside:
    """The content that was written with a table file; none where there is none or it is of another table."""
    file = beside(path)
    if not file.is_file():
        return Beside()
    of = _owner(file)
    if of is None:
        return Beside()
    if of != sha_of(path):
        return Beside(
            note=f"{file.name} contains prompts and answers of another state of {path.name}, which was "
            "changed or written again since: they are left out"
        )
    return Beside(in_file(file))


def in_file(path: Path, keeper: object = None) -> KeptContent:
    """The content in a file that `write` made."""
    return KeptContent((ContentOf(ContentFile(path, keeper), {}),))


def _owner(file: Path) -> str | None:
    """The SHA-256 of the table that a file of content goes with; None if it is none."""
    try:
        return pl.read_parquet_metadata(literally(file)).get(KEY)
    except UNREADABLE:
        return None


def write_beside(
    content: KeptContent | None, path: Path, names: tuple[Collection[str], Collection[str]]
) -> None:
    """Writes the content of a table that was just written; old content of the same name goes.

    `names` are the table's samples and learners.
    """
    file = beside(path)
    if content is not None:
        content.write(file, samples=names[0], learners=names[1], of=sha_of(path))
    elif file.is_file() and _owner(file) is not None:
        file.unlink()


class ScratchFolder:
    """A temporary folder that is removed when nothing refers to it, or when Python ends."""

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="camilla-content-"))
        except OSError as error:
            raise _no_room(error) from error
        weakref.finalize(self, _remove, self.path, os.getpid())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Borrowed, (self.path,))

    def write(self, frame: pl.DataFrame, name: str) -> Path:
        """A Parquet file in the folder."""
        path = self.path / name
        try:
            frame.write_parquet(path, row_group_size=ROW_GROUP, compression="snappy")
        except UNREADABLE as error:
            raise _no_room(error) from error
        return path


class _Borrowed(NamedTuple):
    """The folder of another process, which removes it."""

    path: Path


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def _no_room(error: Exception) -> DataError:
    return DataError(
        f"prompts and answers cannot be kept in {tempfile.gettempdir()}: {unwritable_reason(error)}. Set "
        "TMPDIR to a folder with room, or do without them: --no-content (content=False)."
    )


def scratch_content(frame: pl.DataFrame) -> KeptContent | None:
    """Rows of SCHEMA put away in a temporary file; None if they say nothing."""
    telling = pl.any_horizontal(pl.col(name).is_not_null() for name in (*ASKED, *ANSWERED))
    frame = frame.filter(telling).sort("sample", "learner", "trial", nulls_last=[False, False, True])
    if frame.height == 0:
        return None
    folder = ScratchFolder()
    return in_file(folder.write(frame.select(*SCHEMA), f"table{ENDING}"), folder)


NOTHING = "note: there is nothing to show, because the responses have neither prompts nor answers."


class Look(NamedTuple):
    """A sample to show, why, and the learners whose answers belong to it, with their responses."""

    sample: str
    why: str
    learners: tuple[tuple[str, float | None], ...] = ()


def shown_samples(content: KeptContent | None, looks: Sequence[Look]) -> list[dict[str, Any]]:
    """What is known of each sample: its content and the answers of its learners, trial by trial."""
    if content is None or not looks:
        return []
    rows = content.rows(list(dict.fromkeys(look.sample for look in looks)))
    return [_shown(look, rows.filter(pl.col("sample") == look.sample)) for look in looks]


def _shown(look: Look, rows: pl.DataFrame) -> dict[str, Any]:
    asked = rows.filter(pl.col("learner").is_null()).to_dicts()
    said = asked[0] if asked else {}
    answers = []
    for learner, response in look.learners:
        own = rows.filter(pl.col("learner") == learner).select("trial", *ANSWERED)
        answers += [{"learner": learner, "response": response} | row for row in own.to_dicts()]
    return {
        "sample": look.sample,
        "why": look.why,
        "prompt": said.get("prompt"),
        "reference": said.get("reference"),
        "choices": said.get("choices"),
        "image": said.get("image"),
        "answers": answers,
    }


def excerpts(content: KeptContent | None, looks: Sequence[Look]) -> list[Part]:
    """A block of text per sample; of several trials of a learner the first that says something."""
    if content is None:
        return [NOTHING]
    return [_excerpt(one) for one in shown_samples(content, looks)]


def _image_in_words(image: str | None) -> str | None:
    """An image that is embedded as base64 by its kind and size; a path or link as it is."""
    kind, found, data = (image or "").partition(";base64,")
    if not found or not kind.startswith("data:"):
        return image
    return f"embedded {kind.removeprefix('data:') or 'data'}, about {len(data) * 3 // 4:,} bytes"


def _excerpt(shown: dict[str, Any]) -> Excerpt:
    fields = [("prompt", shown["prompt"])]
    fields += [(f"choice {at}", choice) for at, choice in enumerate(shown["choices"] or (), 1)]
    fields += [("reference", shown["reference"]), ("image", _image_in_words(shown["image"]))]
    named: set[str] = set()
    for answer in shown["answers"]:
        if answer["learner"] in named:
            continue
        named.add(answer["learner"])
        response = "" if answer["response"] is None else f" ({answer['response']:.3g})"
        fields.append((f"{answer['learner']}{response}", answer["answer"] or answer["extracted"]))
        if answer["answer"] and answer["extracted"]:
            fields.append(("  extracted", answer["extracted"]))
        fields.append(("  reason", answer["reason"]))
    known = tuple((label, text) for label, text in fields if text)
    title = f"{shown['sample']}: {shown['why']}" if shown["why"] else shown["sample"]
    return Excerpt(title, known or (("", "nothing is known of what it asks or what was answered"),))
