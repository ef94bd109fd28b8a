"""The pages: HTML made on the server, readable without a script; whatever comes from data is escaped."""

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from camilla.display import as_html, counted, places_in_words
from camilla.names import shown
from camilla.server import api, shapes, submissions
from camilla.server.accounts import Caller
from camilla.server.markup import Cell, Html, Links, facts, hidden, notice, page, table, text
from camilla.server.routes import Ask, Params, Site
from camilla.server.views import View

PER_PAGE = 100


def front(ask: Ask) -> str:
    """All benchmarks."""
    rows = [
        (
            Html(f'<a href="{escape(ask.site.prefix)}/benchmarks/{one["name"]}">{text(one["title"])}</a>'),
            one["learners"], one["samples"], one["board"],
        )
        for one in api.benchmark_infos(ask)["benchmarks"]
    ]  # fmt: skip
    body = f"<h1>{text(ask.site.title)}</h1>" + table(
        "Benchmarks", ["benchmark", "learners", "samples", "board"], rows
    )
    return page(ask.site, ask.caller, ask.site.title, body)


def _interval(row: dict[str, Any], ends: tuple[float, float]) -> Html:
    """An interval drawn to the scale of the board; numbers stand beside it."""
    if row["low"] is None or row["high"] is None or ends[1] <= ends[0]:
        return Html("")

    def at(value: float) -> float:
        return round(4 + 192 * (value - ends[0]) / (ends[1] - ends[0]), 1)

    return Html(
        '<svg class="interval" viewBox="0 0 200 16" aria-hidden="true" focusable="false">'
        f'<line x1="{at(row["low"])}" x2="{at(row["high"])}" y1="8" y2="8"/>'
        f'<circle cx="{at(row["ability"])}" cy="8" r="3.5"/></svg>'
    )


def _between(low: Any, high: Any, decimals: int = 3) -> str:
    if low is None or high is None:
        return ""
    return (
        f"{low:.{decimals}f} to {high:.{decimals}f}"
        if decimals
        else (f"{low}–{high}" if low != high else f"{low}")
    )


def _interval_cell(row: dict[str, Any]) -> Cell:
    return Cell(_between(row["low"], row["high"]), "number")


def _learner_link(links: Links, name: str) -> Html:
    return links.a(name, "/learner", learner=name)


def _state(row: dict[str, Any]) -> Html | None:
    return Html('<span class="state">placed, board pending</span>') if row["state"] == "placed" else None


def leaderboard(ask: Ask) -> str:
    """Learners by ability with intervals, possible ranks and ties."""
    view, links = api.viewed(ask), Links(ask.site, ask.params.benchmark)
    rows = view.rows.to_dicts()
    drawn = [row for row in rows if row["low"] is not None]
    ends = (min((row["low"] for row in drawn), default=0.0), max((row["high"] for row in drawn), default=0.0))
    tied = tie_words(view)
    estimand = str(view.found.provenance.get("estimand", ""))
    cells = [
        (
            row["rank"],
            Cell(Html(f"{_learner_link(links, row['learner'])} {_state(row) or ''}"), "name"),
            row["ability"],
            _interval_cell(row),
            _interval(row, ends),
            Cell(_between(row["rank_low"], row["rank_high"], 0), "number"),
            Cell(tied[at], "number"),
            row["accuracy"],
            row["n"],
            Cell(row["account"], "who"),
        )
        for at, row in enumerate(rows)
    ]  # fmt: skip
    head = ["rank", "learner", "ability", "95 % interval", "drawn", "possible ranks", "tied with", "accuracy"]
    head += ["responses", "by"]
    body = (
        f"<h1>{text(view.benchmark.title)}</h1>"
        + _best_words(rows, tied, estimand)
        + _standing_words(view, ask.params.on)
        + table(f"Learners by ability: {estimand}, {view.found.provenance['interval']}", head, cells)
        + _day_form(links, ask.params.on)
        + f"<p>{links.a('Board as Parquet', '/leaderboard.parquet')}</p>"
    )
    return page(ask.site, ask.caller, view.benchmark.title, body, benchmark=view.benchmark.name, current="")


def _best_words(rows: list[dict[str, Any]], tied: list[str], estimand: str) -> str:
    """Who is best, at what, and whether that is sure."""
    if not rows:
        return "<p>No learner is on this board.</p>"
    first = f"{rows[0]['learner']} is first ({estimand}). {_place_words(rows[0], tied[0])}"
    return f"<p>{text(first)}</p>"


def _place_words(row: dict[str, Any], tied: str) -> str:
    """Ability with its interval, and which ranks cannot be told apart from this one."""
    interval = _between(row["low"], row["high"])
    words = f"Ability {row['ability']:.3f}" + (f" (95 % interval {interval})." if interval else ".")
    return words + (f" It cannot be told apart from the learners of ranks {tied}." if tied else "")


def _standing_words(view: View, on: str | None) -> str:
    counts = f"{view.rows.height} learners on {len(view.found.sample_names)} samples"
    waiting = len(view.placed)
    words = f"Board {view.board.number}, made {view.board.created[:16].replace('T', ' ')} UTC: {counts}."
    if waiting:
        words += f" {counted(waiting, 'learner')} placed on it since, to be fitted with the next board."
    if on is not None:
        words = f"As it was on {on}. {words}"
    return f"<p>{text(words)}</p>"


def _day_form(links: Links, on: str | None) -> str:
    value = f' value="{escape(on[:10])}"' if on else ""
    return (
        f'<form class="row" method="get" action="{escape(links.to())}"><label>The board of a day'
        f'<input type="date" name="on" required{value}></label><button>Show</button></form>'
    )


def tie_words(view: View) -> list[str]:
    """Of each row the ranks of the learners that it is not told apart from."""
    rank = view.rows["rank"].to_list()
    tied: list[set[int]] = [set() for _ in rank]
    for places in view.ties:
        for place in places:
            tied[place].update(places)
    return [places_in_words(sorted({rank[other] for other in one - {at}})) for at, one in enumerate(tied)]


def learner(ask: Ask) -> str:
    """A learner: where it stands, its skills, its boards, its submissions."""
    view, links = api.viewed(ask), Links(ask.site, ask.params.benchmark)
    answer = api.learner(ask)
    row = answer["row"]
    ranks = _between(row["rank_low"], row["rank_high"], 0)
    tied = tie_words(view)[view.rows["learner"].to_list().index(row["learner"])]
    told = [
        ("rank", row["rank"]), ("possible ranks", ranks), ("tied with ranks", tied),
        ("ability", row["ability"]), ("95 % interval", _between(row["low"], row["high"])),
        ("accuracy", row["accuracy"]),
        ("accuracy 95 % interval", _between(row["accuracy_low"], row["accuracy_high"])),
        ("samples answered", row["n"]), ("state", row["state"]), ("submitted by", row["account"]),
    ]  # fmt: skip
    skills = [
        (one["skill"], one["ability"], _interval_cell(one), one["accuracy"], one["n"])
        for one in answer["skills"]
    ]
    past = [
        (
            one["board"], one["created"][:16].replace("T", " "), one["rank"],
            Cell(_between(one["rank_low"], one["rank_high"], 0), "number"), one["ability"],
            _interval_cell(one),
        )
        for one in answer["history"]
    ]  # fmt: skip
    sent = submissions.submissions(ask.site.store, view.benchmark.id, learner=row["learner"])
    place = f"Rank {row['rank']} of {view.rows.height}. {_place_words(row, tied)}"
    body = f"<h1>{text(row['learner'])}</h1><p>{text(place)}</p>" + facts("Where it stands", told)
    body += "<h2>Skills</h2>" + table(
        "By skill", ["skill", "ability", "95 % interval", "accuracy", "samples"], skills
    )
    body += "<h2>Over time</h2>" + table(
        "Boards that were fitted with it",
        ["board", "made (UTC)", "rank", "possible ranks", "ability", "95 % interval"],
        past,
    )
    if sent:
        body += "<h2>Submissions</h2>" + _submission_table(ask, sent)
    body += f"<p>{links.a('Compare with another learner', '/compare', a=row['learner'])}</p>"
    return page(ask.site, ask.caller, row["learner"], body, benchmark=view.benchmark.name)


def compare(ask: Ask) -> str:
    """Two learners, chosen in a form, on the samples both answered."""
    links = Links(ask.site, ask.params.benchmark)
    names = ask.site.boards.view(ask.params.benchmark).rows["learner"].to_list()
    fields = ""
    for field, label in (("a", "Learner A"), ("b", "Learner B")):
        chosen = getattr(ask.params, field)
        options = "".join(
            f'<option value="{escape(name)}"{mark}>{escape(shown(name))}</option>'
            for name in names
            for mark in (" selected" if name == chosen else "",)
        )
        fields += f'<label>{label}<select name="{field}">{options}</select></label>'
    form = (
        f'<form class="row" method="get" action="{escape(links.to("/compare"))}">{fields}'
        "<button>Compare</button></form>"
    )
    body = f"<h1>Compare two learners</h1>{form}"
    if ask.params.a is not None and ask.params.b is not None:
        body += as_html(api.compared(ask).parts())
    return page(ask.site, ask.caller, "Compare", body, benchmark=ask.params.benchmark, current="/compare")


def samples(ask: Ask) -> str:
    """Samples with their statistics, a hundred per page."""
    view, links = ask.site.boards.view(ask.params.benchmark), Links(ask.site, ask.params.benchmark)
    total, offset = view.found.samples.height, ask.params.offset
    rows = [
        (
            Cell(links.a(one["sample"], "/sample", sample=one["sample"]), "name"), one["accuracy"],
            one["difficulty"], one["discrimination"], one["n"], ", ".join(one["flags"]),
        )
        for one in api.sample_rows(ask, view, view.found.samples.slice(offset, PER_PAGE))
    ]  # fmt: skip
    head = ["sample", "accuracy", "difficulty", "discrimination", "learners", "flags"]
    body = f"<h1>Samples</h1><p>{total} samples.</p>" + table(
        f"Samples {min(offset + 1, total)} to {min(offset + PER_PAGE, total)}", head, rows
    )
    steps = [("Earlier samples", offset - PER_PAGE)] if offset >= PER_PAGE else []
    steps += [("Further samples", offset + PER_PAGE)] if offset + PER_PAGE < total else []
    body += f"<p>{' '.join(links.a(label, '/samples', offset=start) for label, start in steps)}</p>"
    return page(ask.site, ask.caller, "Samples", body, benchmark=view.benchmark.name, current="/samples")


def sample(ask: Ask) -> str:
    """A sample: who solved it, and what it asks unless that is secret."""
    answer, links = api.sample(ask), Links(ask.site, ask.params.benchmark)
    row, asked = answer["sample"], answer["content"]
    body = f"<h1>{text(row['sample'])}</h1>"
    if answer["secret"]:
        body += notice("This sample is secret: what it asks and its right answer stay on the server.")
    if asked is not None:
        body += f"<h2>What it asks</h2><pre>{text(asked['prompt'])}</pre>"
        if asked["choices"]:
            body += f"<ol>{''.join(f'<li>{text(one)}</li>' for one in asked['choices'])}</ol>"
        if asked["reference"]:
            body += f"<h2>Right answer</h2><pre>{text(asked['reference'])}</pre>"
    told = [(name, row[name]) for name in ("accuracy", "difficulty", "discrimination", "n")]
    body += facts("Statistics", [*told, ("flags", ", ".join(row["flags"]))])
    body += table(
        "Responses",
        ["learner", "response"],
        [(_learner_link(links, one["learner"]), one["response"]) for one in answer["responses"]],
    )
    return page(ask.site, ask.caller, row["sample"], body, benchmark=ask.params.benchmark)


def skills(ask: Ask) -> str:
    """Skills with their best learner."""
    links = Links(ask.site, ask.params.benchmark)
    rows = [
        (one["skill"], one["samples"], _learner_link(links, one["best"]), one["ability"], one["accuracy"])
        for one in api.skill_list(ask)["skills"]
    ]
    body = "<h1>Skills</h1>" + table(
        "Skills and their best learner", ["skill", "samples", "best learner", "ability", "accuracy"], rows
    )
    return page(ask.site, ask.caller, "Skills", body, benchmark=ask.params.benchmark, current="/skills")


def _submission_table(ask: Ask, rows: list[dict[str, Any]]) -> Html:
    return table(
        "Submissions, newest first",
        ["number", "learner", "by", "received (UTC)", "responses", "unknown samples", "board", "SHA-256",
         "state"],
        [
            (
                one["id"], Cell(one["learner"], "who"), Cell(one["account"], "who"),
                one["created"][:19].replace("T", " "), one["n_responses"], one["n_unknown"], one["board"],
                one["digest"][:12], Cell(_withdrawal(ask, one), "name"),
            )
            for one in rows
        ],
    )  # fmt: skip


def _withdrawal(ask: Ask, one: dict[str, Any]) -> Html | str:
    if one["withdrawn"] is not None:
        why = f" ({one['reason']})" if one["reason"] else ""
        return f"withdrawn {one['withdrawn'][:10]} by {one['withdrawn_by']}{why}"
    mine = ask.caller.login is not None and (ask.caller.account == one["account"] or ask.caller.may("owner"))
    if not mine:
        return "counts"
    where = f"{escape(ask.site.prefix)}/submissions/{one['id']}/withdraw"
    return Html(
        f'<form class="inline" method="post" action="{where}">{hidden(ask.caller)}'
        f"<button>Withdraw {text(one['learner'])}</button></form>"
    )


def submission_list(ask: Ask) -> str:
    """Who submitted what and when; withdrawn ones stay in the list."""
    benchmark = ask.site.boards.benchmark(ask.params.benchmark)
    rows = submissions.submissions(ask.site.store, benchmark.id, before=ask.params.before, limit=PER_PAGE)
    body = "<h1>Submissions</h1>" + (_submission_table(ask, rows) if rows else "<p>None yet.</p>")
    if len(rows) == PER_PAGE:
        links = Links(ask.site, benchmark.name)
        body += f"<p>{links.a('Older submissions', '/submissions', before=rows[-1]['id'])}</p>"
    return page(ask.site, ask.caller, "Submissions", body, benchmark=benchmark.name, current="/submissions")


def history(ask: Ask) -> str:
    """Every board, each to be shown again, and two of them to be compared."""
    links = Links(ask.site, ask.params.benchmark)
    found = api.board_list(ask)["boards"]
    rows = [
        (
            one["number"], links.a(one["created"][:19].replace("T", " "), "", on=one["created"]),
            one["n_submissions"], one["submissions_hash"][:12], one["seconds"],
        )
        for one in found
    ]  # fmt: skip
    body = "<h1>Boards</h1>" + table(
        "Boards, newest first", ["board", "made (UTC)", "submissions", "their SHA-256", "seconds"], rows
    )
    if len(found) > 1:
        fields = "".join(
            f'<label>{label}<input type="number" name="{name}" min="1" max="{found[0]["number"]}" '
            f'value="{value}" required></label>'
            for label, name, value in (
                ("From board", "before", found[1]["number"]), ("to board", "after", found[0]["number"])
            )
        )  # fmt: skip
        body += (
            f'<form class="row" method="get" action="{escape(links.to("/diff"))}">{fields}'
            "<button>Show what changed</button></form>"
        )
    return page(ask.site, ask.caller, "History", body, benchmark=ask.params.benchmark, current="/history")


def diff(ask: Ask) -> str:
    """Ranks and abilities on two boards."""
    found = api.diff(ask)
    rows = [
        (
            Cell(one["learner"], "name"), one["rank_before"], one["rank_after"], one["ability_before"],
            Cell(_between(one["low_before"], one["high_before"]), "number"), one["ability_after"],
            Cell(_between(one["low_after"], one["high_after"]), "number"),
        )
        for one in found["rows"]
    ]  # fmt: skip
    title = f"From board {found['before']} to board {found['after']}"
    head = ["learner", "rank before", "rank after", "ability before", "95 % interval", "ability after"]
    head += ["95 % interval"]
    body = f"<h1>{title}</h1>" + table(
        "A learner that is on one board only has no numbers on the other", head, rows
    )
    return page(ask.site, ask.caller, title, body, benchmark=ask.params.benchmark)


def submit_form(ask: Ask, *, error: str = "") -> str:
    """The form to submit a learner's responses."""
    links = Links(ask.site, ask.params.benchmark)
    if not ask.caller.may("submitter") or ask.caller.login is None:
        body = (
            "<h1>Submit</h1><p>Submitting needs a token. "
            f'<a href="{escape(ask.site.prefix)}/login">Log in</a> with it, or '
            "use <code>camilla submit</code>.</p>"
        )
    else:
        benchmark = ask.site.boards.benchmark(ask.params.benchmark)
        body = (
            f"<h1>Submit a learner</h1>{notice(error, error=True) if error else ''}"
            f'<form method="post" enctype="multipart/form-data" action="{escape(links.to("/submit"))}">'
            f"{hidden(ask.caller)}"
            '<label>Learner (leave empty if the file names it)<input name="learner" maxlength="500"></label>'
            f"<label>Responses to {_share_words(benchmark.least_share)} of the samples: a table (CSV, JSONL, "
            "Parquet …) or a log of a harness"
            '<input type="file" name="file" required></label><button>Submit</button></form>'
        )
    return page(ask.site, ask.caller, "Submit", body, benchmark=ask.params.benchmark, current="/submit")


def _share_words(share: float) -> str:
    return "all" if share == 1 else f"at least {share:.4g}"


def login_form(site: Site, caller: Caller, *, error: str = "") -> str:
    """The form that takes a token and gives a cookie."""
    body = (
        f"<h1>Log in</h1>{notice(error, error=True) if error else ''}"
        f'<form method="post" action="{escape(site.prefix)}/login"><label>Token'
        '<input type="password" name="token" autocomplete="off" required></label>'
        "<button>Log in</button></form>"
    )
    return page(site, caller, "Log in", body)


class ComparePage(shapes.OfBoard, frozen=True):
    a: str | None = None
    b: str | None = None


class SamplesPage(shapes.InBenchmark, frozen=True):
    offset: shapes.Offset = 0


class PageRoute(NamedTuple):
    """A page; `cached` ones are the same for everyone who is not logged in until the benchmark changes."""

    path: str
    draw: Callable[[Ask], str]
    params: type[Params] = shapes.InBenchmark
    cached: bool = True


OF = "/benchmarks/{benchmark}"
PAGES = (
    PageRoute("/", front, Params, cached=False),
    PageRoute(OF, leaderboard, shapes.OfBoard),
    PageRoute(f"{OF}/learner", learner, shapes.OfLearner),
    PageRoute(f"{OF}/compare", compare, ComparePage),
    PageRoute(f"{OF}/samples", samples, SamplesPage, cached=False),
    PageRoute(f"{OF}/sample", sample, shapes.OfSample, cached=False),
    PageRoute(f"{OF}/skills", skills),
    PageRoute(f"{OF}/submissions", submission_list, shapes.OfSubmissions),
    PageRoute(f"{OF}/history", history),
    PageRoute(f"{OF}/diff", diff, shapes.OfTwoBoards),
    PageRoute(f"{OF}/submit", submit_form),
)
