"""The report: one HTML file, built from what was saved."""

import base64
import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import camilla
from camilla.errors import DataError, SettingError
from camilla.show.report import choosing, diagnosed, plain
from camilla.show.report import content as content_pieces
from camilla.show.report.packing import packed
from camilla.show.report.sources import read_sources
from camilla.show.report.words import summary
from camilla.table.files import whole_file, whole_folder

MARK = ".camilla-report"  # in a folder that a report may replace


class Written(NamedTuple):
    """The files of a report: the page, and folders beside it for large tables and content.

    Attributes
    ----------
    page : Path
        The HTML file.
    tables : Path or None
        Folder beside it with all rows of large tables.
    files : Path or None
        Folder beside it with large content.
    notes : tuple of str
        Sentences that a reader must know before using the result.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
    >>> camilla.report(diagnosis.save("saved"), "report.html").tables is None
    True
    """

    page: Path
    tables: Path | None
    files: Path | None = None
    notes: tuple[str, ...] = ()


def report(
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    images: str | Path | None = None,
    title: str | None = None,
    content: bool = True,
    learners: str | Path | None = None,
) -> Written:
    """Writes one HTML file from saved results. It opens in a browser, offline.

    Parameters
    ----------
    sources : path or list of paths
        What diagnose, epp, experiment, rank, compare, route, ensemble and features wrote.
    output : path
        The HTML file.
    images : path, optional
        Folder of the image files that samples name. No other place is searched.
    title : str, optional
        Title of the report.
    content : bool
        Whether to include prompts and answers. Up to 2 MB (packed) they are in the page, else beside it.
    learners : path, optional
        A table file with one row per learner: cost, latency or size as numbers, `family` as text.

    Returns
    -------
    Written
        `page`, and `tables` and `files`: folders beside the page, or None. Above 50,000 samples the page
        keeps some, and `tables` has all rows as Parquet. `notes` are sentences to know.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
    >>> camilla.report(diagnosis.save("saved"), "report.html").page.name
    'report.html'
    """
    target = Path(output)
    if target.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{target}: a report is one HTML file; give it a name that ends in .html.")
    if not target.parent.is_dir():
        raise DataError(f"{target}: there is no folder {target.parent}. Make it first.")
    if not sources:
        raise DataError("a report needs at least one saved diagnosis, leaderboard or experiment; name it.")
    if images is not None and not Path(images).is_dir():
        raise DataError(f"{images}: is not a folder; expected the folder of the images that samples name.")
    named = [sources] if isinstance(sources, str | Path) else sources
    found = read_sources(map(Path, named))
    known = None if learners is None else choosing.read_attributes(learners)
    notes = _notes(known, found.diagnoses, learners)
    large = [one for one in found.diagnoses if len(one.kept) < len(one.samples)]
    tables = target.with_name(f"{target.stem}_tables") if large else None
    folding = Folding(target.with_name(f"{target.stem}_files"), None if images is None else Path(images))
    with ExitStack() as whole:  # folders take their places before the page does
        draft = whole.enter_context(whole_file(target))
        if tables is not None:
            _write_tables(large, whole.enter_context(_own_folder(tables)))
        contents = [folding.folded(one, whole) if content else None for one in found.diagnoses]
        document = {
            "title": title or found.title,
            "version": camilla.__version__,
            "diagnoses": [
                _diagnosis(one, known) | {"content": packed_content}
                for one, packed_content in zip(found.diagnoses, contents, strict=True)
            ],
            "boards": found.boards,
            "comparisons": [one if content else one | {"shown": []} for one in found.comparisons],
            "experiments": found.experiments,
            "tables": None if tables is None else tables.name,
        }
        text = page(
            document,
            title=title or found.title,
            plain=plain.everything(found),
            version=camilla.__version__,
            pieces=folding.embedded,
            framed=folding.beside > 0,
        )
        draft.write_text(text, encoding="utf-8")
    if not folding.beside and (folding.folder / MARK).is_file():
        shutil.rmtree(folding.folder, ignore_errors=True)  # of an earlier report of this name
    return Written(target, tables, folding.folder if folding.beside else None, notes)


class Folding:
    """Pieces of content: in the page as long as there is room, then in the folder beside it."""

    def __init__(self, folder: Path, images: Path | None) -> None:
        self.folder = folder
        self.images = images
        self.embedded: list[str] = []
        self.beside = 0  # characters
        self._draft: Path | None = None

    def folded(self, of: diagnosed.Diagnosed, whole: ExitStack) -> dict[str, Any] | None:
        """What the page knows about a diagnosis' content: the list of samples, and which piece has which."""
        if of.found.content is None:
            return None
        found = content_pieces.PackedContent(of, of.found.content, self.images)
        where = np.full(len(of.kept), -1, np.int32)
        files: list[str | int] = []  # an embedded piece by its number, another by its file's name
        embedded = beside = left_out = 0
        for piece in found.pieces():
            if sum(map(len, self.embedded)) + len(piece.text) <= content_pieces.MOST_EMBEDDED:
                files.append(len(self.embedded))
                self.embedded.append(piece.text)
                embedded += len(piece.samples)
            elif self.beside + len(piece.text) <= content_pieces.MOST_BESIDE:
                files.append(piece.name)
                self._write(piece, whole)
                beside += len(piece.samples)
            else:
                left_out += len(piece.samples)
                continue
            where[piece.samples] = len(files) - 1
        counts = {"embedded": embedded, "beside": beside, "left_out": left_out}
        folder = self.folder.name if beside else None
        return found.asked._asdict() | counts | {"where": where, "pieces": files, "folder": folder}

    def _write(self, piece: content_pieces.Piece, whole: ExitStack) -> None:
        if self._draft is None:
            self._draft = whole.enter_context(_own_folder(self.folder))
        policy = f"default-src 'none'; script-src '{_content_hash(SENDER)}'"
        text = PIECE_TEMPLATE.format(policy=policy, data=piece.text, script=SENDER)
        (self._draft / piece.name).write_text(text, encoding="utf-8")
        self.beside += len(piece.text)


def _notes(
    known: choosing.Attributes | None, diagnoses: list[diagnosed.Diagnosed], path: str | Path | None
) -> tuple[str, ...]:
    if known is None or path is None:
        return ()
    notes = (choosing.check_names(known, one.learners, path) for one in diagnoses)
    return tuple(note for note in notes if note is not None)


def _diagnosis(of: diagnosed.Diagnosed, known: choosing.Attributes | None) -> dict[str, Any]:
    chosen = {
        "choosing": choosing.section(of),
        "attributes": choosing.attributes_section(known, of.learners),
    }
    return diagnosed.section(of) | summary(of) | chosen


@contextmanager
def _own_folder(target: Path) -> Iterator[Path]:
    """A folder beside the page that appears whole or not at all, and replaces only one of a report."""
    if target.exists() and not (target / MARK).exists():
        raise DataError(f"{target}: exists and is not part of a report; it is not overwritten. Move it away.")
    with whole_folder(target) as draft:
        (draft / MARK).touch()
        yield draft


def _write_tables(large: list[diagnosed.Diagnosed], draft: Path) -> None:
    """Learners, samples, skills and responses of large diagnoses."""
    for number, one in enumerate(large):
        inside = draft / f"diagnosis-{number}" if number else draft
        inside.mkdir(exist_ok=True)
        for name in ("learners", "samples", "skills"):
            getattr(one.found, name).write_parquet(inside / f"{name}.parquet")
        _responses(one).write_parquet(inside / "responses.parquet")


def _responses(of: diagnosed.Diagnosed) -> pl.DataFrame:
    """One row per response, names in full."""
    cells = of.found.cells
    return pl.DataFrame(
        {
            "learner": pl.Series(of.found.learner_names, dtype=pl.String)[cells.learner],
            "sample": pl.Series(of.found.sample_names, dtype=pl.String)[cells.sample],
            "response": cells.response,
        }
    )


TEMPLATE = """<!doctype html>
<html lang="en" data-theme="auto">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="camilla {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>{plain}</noscript>
<div id="app"></div>
<script type="application/octet-stream" id="data">{data}</script>
{pieces}<script>{script}</script>
</body>
</html>
"""

# A piece of content beside the page. The page opens it in a sandboxed frame and is sent its data: a page that
# was opened as a file may not fetch its neighbours, and their scripts must never run in it.
PIECE_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Part of a report</title>
</head>
<body>
<p>This file holds prompts and answers of the report in the folder above it. Open that page instead.</p>
<script type="application/octet-stream" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
SENDER = 'parent.postMessage(document.getElementById("data").textContent, "*");'


def page(
    document: dict[str, Any],
    *,
    title: str,
    plain: str,
    version: str,
    pieces: Sequence[str] = (),
    framed: bool = False,
) -> str:
    """The whole HTML; `plain` is markup already, `title` is not; `framed` if pieces lie beside the page."""
    style, script = (_static(name) for name in ("report.css", "report.js"))
    policy = (
        f"default-src 'none'; script-src '{_content_hash(script)}'; style-src '{_content_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    ) + ("; frame-src 'self'" if framed else "")
    held = "".join(
        f'<script type="application/octet-stream" id="content-{number}">{piece}</script>\n'
        for number, piece in enumerate(pieces)
    )
    return TEMPLATE.format(
        policy=policy, version=escape(version), title=escape(title), style=style, plain=plain,
        data=packed(document), pieces=held, script=script,
    )  # fmt: skip


def _static(name: str) -> str:
    return resources.files("camilla.show.report").joinpath("static", name).read_text(encoding="utf-8")


def _content_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
