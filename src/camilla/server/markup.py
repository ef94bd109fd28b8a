"""Markup that all pages share: escaped text, tables, links, the frame around a page."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import urlencode

import camilla
from camilla.names import shown
from camilla.server.accounts import Caller
from camilla.server.routes import Site

MENU = (("", "Leaderboard"), ("/samples", "Samples"), ("/skills", "Skills"), ("/compare", "Compare"),
        ("/submissions", "Submissions"), ("/history", "History"), ("/report", "Report"))  # fmt: skip
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{prefix}/static/site.css">
</head>
<body>
<header><a class="site" href="{prefix}/">{site}</a>{who}</header>
{menu}<main>
{body}
</main>
<footer><p>Made with Camilla {version}. <a href="{prefix}/openapi.json">API description</a></p></footer>
</body>
</html>
"""


class Html(str):
    """Markup: text that is inserted as it is."""

    __slots__ = ()


class Cell(NamedTuple):
    """A cell with a class."""

    content: Any
    kind: str


def text(value: Any) -> str:
    """Anything as markup: numbers rounded, text escaped, nothing for what is missing."""
    if isinstance(value, Html):
        return value
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"<bdi>{escape(shown(str(value)))}</bdi>"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Html:
    """A table; columns of numbers are set to the right."""
    body, numeric = [], set()
    for row in rows:
        cells = []
        for place, value in enumerate(row):
            cell = value if isinstance(value, Cell) else Cell(value, "")
            if isinstance(cell.content, int | float) and not cell.kind:
                cell = Cell(cell.content, "number")
            if cell.kind == "number":
                numeric.add(place)
            kind = f' class="{cell.kind}"' if cell.kind else ""
            cells.append(f"<td{kind}>{text(cell.content)}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(
        f'<th scope="col"{" class=number" if place in numeric else ""}>{escape(name)}</th>'
        for place, name in enumerate(head)
    )
    return Html(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def facts(caption: str, rows: Iterable[tuple[str, Any]]) -> Html:
    """A table of two columns: what, and its value; what is missing is left out."""
    known = [(name, value) for name, value in rows if value not in (None, "")]
    return table(caption, ["what", "value"], [(name, Html(text(value))) for name, value in known])


class Links:
    """Addresses within the site, whatever its prefix."""

    def __init__(self, site: Site, benchmark: str) -> None:
        self.root = f"{site.prefix}/benchmarks/{benchmark}"

    def to(self, path: str = "", **query: Any) -> str:
        """An address of the benchmark."""
        given = {name: value for name, value in query.items() if value is not None}
        return self.root + path + (f"?{urlencode(given)}" if given else "")

    def a(self, label: Any, path: str = "", **query: Any) -> Html:
        """A link."""
        return Html(f'<a href="{escape(self.to(path, **query))}">{text(label)}</a>')


def page(
    site: Site,
    caller: Caller,
    title: str,
    body: str,
    *,
    benchmark: str | None = None,
    current: str | None = None,
) -> str:
    """A whole page; `body` is markup."""
    menu = ""
    if benchmark is not None:
        links = Links(site, benchmark)
        entries = [*MENU, *((("/submit", "Submit"),) if site.worker is not None else ())]
        items = "".join(
            f'<li><a href="{escape(links.to(path))}"{_current(path == current)}>{name}</a></li>'
            for path, name in entries
        )
        menu = f'<nav class="menu" aria-label="Benchmark"><header><ul>{items}</ul></header></nav>\n'
    return PAGE.format(
        title=escape(shown(title)), prefix=escape(site.prefix), site=escape(site.title), body=body,
        who=_who(site, caller), menu=menu, version=escape(camilla.__version__),
    )  # fmt: skip


def _current(here: bool) -> str:
    return ' aria-current="page"' if here else ""


def _who(site: Site, caller: Caller) -> str:
    if site.worker is None and not site.private:
        return ""
    if caller.login is None:
        return f'<a href="{escape(site.prefix)}/login">Log in</a>'
    return (
        f'<span class="quiet">{text(caller.account)} ({text(caller.role)})</span>'
        f'<form class="inline" method="post" action="{escape(site.prefix)}/logout">{hidden(caller)}'
        "<button>Log out</button></form>"
    )


def hidden(caller: Caller) -> str:
    """The field that shows that a form is from a page of this login."""
    return f'<input type="hidden" name="csrf" value="{escape(caller.csrf)}">'


def notice(message: str, *, error: bool = False) -> str:
    """A message in a box."""
    kind, role = ("notice error", "alert") if error else ("notice", "status")
    return f'<p class="{kind}" role="{role}">{text(message)}</p>'


def problem(site: Site, caller: Caller, status: int, message: str) -> str:
    """A refusal as a page."""
    body = f"<h1>{status}</h1>{notice(message, error=True)}"
    return page(site, caller, f"{status}", body)
