"""What a server refuses, and what it never says."""

import asyncio
import base64
import inspect
import io
import json
import re
import time
import zlib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import board_worlds
import polars as pl
import pytest
from board_worlds import Live
from starlette.testclient import TestClient

import camilla
from camilla.cli.serve import serve
from camilla.errors import SettingError
from camilla.server.accounts import RateLimit, add_token, revoke_token
from camilla.server.application import COOKIE, Application
from camilla.server.boards import restrict
from camilla.server.guard import BROKEN, HEADERS, Limits
from camilla.server.refitting import RefitPolicy, draw_report
from camilla.server.running import Settings, site_of
from camilla.server.store import log_line, now
from camilla.table.content import SCHEMA, scratch_content
from camilla.table.responses import ResponseTable

SUBMIT = "/api/benchmarks/small/submissions"
GIVEN = board_worlds.responses(0.5, seed=1)
BODY = {"learner": "new", "responses": GIVEN}
ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE submissions; --",
    "{{7*7}} ${7*7} %s %(x)s {0}",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "a&b=c#d?e/../..%2e",
    "x" * 400,
]


@pytest.fixture
def server(live: Callable[..., Live]) -> Live:
    return live()


def test_a_missing_wrong_expired_or_revoked_token_opens_nothing(server: Live) -> None:
    store = server.site.store
    expired, revoked = (add_token(store, "ann", "owner", days=1) for _ in range(2))
    revoke_token(store, revoked.id)
    with store.writing() as transaction:
        transaction.run("UPDATE tokens SET expires = :now WHERE id = :id", now=now(), id=expired.id)
    for token in (None, "wrong", "", expired.secret, revoked.secret, "\x7f", "a b c"):
        answer = server.post(SUBMIT, token, BODY)
        assert answer.status_code == 401, token
        assert answer.headers["www-authenticate"] == "Bearer"
    assert server.client.post(SUBMIT, json=BODY, headers={"Authorization": "Basic eDp5"}).status_code == 401
    assert server.client.get(SUBMIT).json()["submissions"] == []


def test_tokens_are_kept_as_hashes_and_shown_once(server: Live) -> None:
    secret = server.token("ann", "owner")
    assert len(secret) >= 43  # 256 bits in base64
    with server.site.store.reading() as transaction:
        everything = json.dumps(transaction.rows("SELECT * FROM tokens"))
    assert secret not in everything
    assert secret not in server.client.get("/api/tokens", headers={"Authorization": f"Bearer {secret}"}).text


@pytest.mark.parametrize(
    ("role", "method", "path", "status"),
    [
        ("reader", "POST", SUBMIT, 403),
        ("reader", "GET", "/api/tokens", 403),
        ("submitter", "POST", "/api/tokens", 403),
        ("submitter", "DELETE", "/api/tokens/1", 403),
        ("owner", "GET", "/api/tokens", 200),
    ],
)
def test_a_role_may_do_what_it_includes_and_no_more(
    server: Live, role: str, method: str, path: str, status: int
) -> None:
    headers = {"Authorization": f"Bearer {server.token('ann', role)}"}
    body = BODY if path == SUBMIT else {"account": "bob", "role": "owner"}
    more = {"json": body} if method == "POST" else {}
    assert server.client.request(method, path, headers=headers, **more).status_code == status


def test_only_the_submitter_and_the_owner_withdraw(server: Live) -> None:
    ann, bob, owner = server.token("ann"), server.token("bob"), server.token("carl", "owner")
    number = server.number(ann, "new", GIVEN)
    path = f"/api/submissions/{number}/withdraw"
    refused = server.post(path, bob, {})
    assert refused.status_code == 403
    assert "of another account" in refused.json()["error"]
    assert "new" in server.rows()
    assert server.post(path, owner, {}).json()["withdrawn_by"] == "carl"
    assert server.post(path, ann, {}).json()["withdrawn_by"] == "carl"


def test_reading_needs_a_token_where_the_board_is_private(live: Callable[..., Live]) -> None:
    server = live(private=True)
    token = server.token("ann", "reader")
    for path in ("/", "/benchmarks/small", "/api/benchmarks", "/openapi.json", "/metrics"):
        assert server.client.get(path).status_code == 401
        assert server.client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert server.client.get("/healthz").status_code == 200


def test_a_body_too_large_is_refused_before_and_while_it_comes(
    live: Callable[..., Live],
) -> None:
    server = live(limits=Limits(body=10_000, writes=1e6))
    token = server.token("ann")
    assert server.post(SUBMIT, token, content=b"x" * 20_000).status_code == 413

    def chunks() -> Iterator[bytes]:
        yield b'{"learner": "new", "responses": {'
        for _ in range(100):
            yield b" " * 1000

    answer = server.post(SUBMIT, token, content=chunks(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "at most 10000 bytes" in answer.json()["error"]


def test_a_body_too_slow_is_given_up(live: Callable[..., Live]) -> None:
    server = live(limits=Limits(seconds=0.3))
    token = server.token("ann")
    said: list[Any] = []
    bearer = f"Bearer {token}".encode()

    async def ask() -> None:
        scope = {
            "type": "http", "method": "POST", "path": SUBMIT, "query_string": b"", "http_version": "1.1",
            "scheme": "http", "raw_path": SUBMIT.encode(), "server": ("x", 80), "client": ("1.2.3.4", 5),
            "headers": [(b"content-type", b"application/json"), (b"authorization", bearer)],
        }  # fmt: skip
        turns = iter([{"type": "http.request", "body": b"{", "more_body": True}])

        async def receive() -> Any:
            if (message := next(turns, None)) is None:
                await asyncio.sleep(60)
            return message

        async def send(message: Any) -> None:
            said.append(message)

        await server.application.asgi()(scope, receive, send)

    started = time.monotonic()
    asyncio.run(ask())
    assert time.monotonic() - started < 30
    assert said[0]["status"] == 408


@pytest.mark.parametrize(
    "path",
    [
        "/static/../application.py",
        "/static/%2e%2e/application.py",
        "/static/..%2fapplication.py",
        "/benchmarks/..%2f..%2fetc%2fpasswd",
        "/benchmarks/small/../../../etc/passwd",
        "//etc/passwd",
        "/api/benchmarks/%2e%2e/leaderboard",
    ],
)
def test_no_path_leads_out(server: Live, path: str) -> None:
    answer = server.client.get(path)
    assert answer.status_code in (404, 307, 400)
    assert "root:" not in answer.text
    assert "import " not in answer.text


def test_the_name_of_an_upload_leads_nowhere(server: Live, tmp_path: Path) -> None:
    content = board_worlds.as_csv(tmp_path / "new.csv", "new", GIVEN).read_bytes()
    for name in (
        "../../../tmp/evil.csv",
        "/etc/cron.d/x.csv",
        "a\\..\\b.csv",
        "..csv",
        "x\r\nSet-Cookie: a.csv",
    ):
        answer = server.post(SUBMIT, server.token("ann"), files={"file": (name, content)})
        assert answer.status_code in (200, 201), (name, answer.text)
        assert "set-cookie" not in answer.headers


def logged_in(server: Live, account: str = "ann") -> str:
    """Logs the client in; the hidden field of its forms."""
    answer = server.client.post("/login", data={"token": server.token(account)})
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    page = server.client.get("/benchmarks/small/submit").text
    found = re.search(r'name="csrf" value="(\w{64})"', page)
    assert found is not None
    return found.group(1)


def test_a_form_needs_the_field_of_its_own_login_and_no_other_site(server: Live, tmp_path: Path) -> None:
    content = board_worlds.as_csv(tmp_path / "new.csv", "new", GIVEN).read_bytes()
    others = logged_in(server, "bob")
    server.client.cookies.clear()
    field = logged_in(server)

    def send(headers: dict[str, str] | None = None, **fields: str) -> int:
        answer = server.client.post(
            "/benchmarks/small/submit",
            data=fields,
            files={"file": ("new.csv", content)},
            headers=headers or {},
        )
        return int(answer.status_code)

    assert send() == 403
    assert send(csrf="") == 403
    assert send(csrf=others) == 403
    assert send({"Sec-Fetch-Site": "cross-site"}, csrf=field) == 403
    assert "new" not in server.rows()
    number = server.number(server.token("ann"), "other", GIVEN)
    assert server.client.post(f"/submissions/{number}/withdraw", data={"csrf": others}).status_code == 403
    assert server.client.post("/logout", data={}).status_code == 403
    assert send({"Sec-Fetch-Site": "same-origin"}, csrf=field) == 303
    assert "new" in server.rows()
    assert server.client.post("/logout", data={"csrf": field}).status_code == 303
    assert send(csrf=field) == 401


def test_a_cookie_is_no_token_for_the_api(server: Live) -> None:
    """A page of another site could send a cookie along; it cannot send a header."""
    logged_in(server)
    assert server.client.post(SUBMIT, json=BODY).status_code == 401


def test_a_login_ends_with_its_token(server: Live) -> None:
    logged_in(server)
    assert "Log out" in server.client.get("/benchmarks/small").text
    revoke_token(server.site.store, 1)
    assert "Log out" not in server.client.get("/benchmarks/small").text


def test_headers_cannot_be_injected(server: Live) -> None:
    """Of a learner's name into the redirect after a form, and of anything else into the log."""
    name = "new line"
    field = logged_in(server)
    content = b"sample,response\nsample 01,1\n"
    answer = server.client.post(
        "/benchmarks/small/submit", data={"csrf": field, "learner": name + "\r\nX-Evil: 1"},
        files={"file": ("new.csv", content)},
    )  # fmt: skip
    assert answer.status_code == 422
    assert "x-evil" not in answer.headers
    for sent in ({"If-None-Match": 'a", "b'}, {"X-Forwarded-For": "1.2.3.4\t5"}):
        assert server.client.get("/benchmarks/small", headers=sent).status_code == 200


def test_the_log_has_one_line_of_json_per_request_whatever_the_path(
    live: Callable[..., Live], capsys: pytest.CaptureFixture[str]
) -> None:
    server = live(log=log_line)
    token = server.token("ann")
    server.client.get('/benchmarks/x%0a{"event": "fake"}', headers={"Authorization": f"Bearer {token}"})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    told = json.loads(lines[0])
    assert (told["event"], told["status"], told["account"]) == ("request", 404, "ann")
    assert token not in lines[0]


class Structure(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.wrong: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        allowed = {"script", "img", "iframe", "object", "embed", "style"}
        self.wrong += [tag] if tag in allowed else []
        for name, value in attrs:
            link = name in ("href", "src", "action") and not str(value).startswith("/")
            if name.startswith("on") or name == "style" or link:
                self.wrong.append((tag, name, value))


def hostile(tmp_path: Path) -> Path:
    """A diagnosis whose learners, samples, skills and content are attacks."""
    table = board_worlds.world()
    names = [f"{attack} {i}" for i, attack in enumerate(ATTACKS * 2)][: table.n_learners]
    samples = [f"{ATTACKS[j % len(ATTACKS)]} {j}" for j in range(table.n_samples)]
    table = ResponseTable.from_matrix(table.matrix(), learners=names, samples=samples)
    skills = board_worlds.world().skill_map
    assert skills is not None
    attacks = type(skills)(tuple(ATTACKS[:3]), skills.mask)
    frame = pl.DataFrame({"sample": samples, "prompt": [f"<b onclick=x>{s}</b>" for s in samples]})
    table = ResponseTable(
        table.learners, table.samples, table.learner, table.sample, table.response, skill_map=attacks,
        content=scratch_content(as_content(frame)),
    )  # fmt: skip
    return camilla.diagnose(table, "camilla-base", **board_worlds.SETTINGS).save(tmp_path / "hostile")


def as_content(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of content with every column that kept content has."""
    missing = {name: pl.lit(None, kind) for name, kind in SCHEMA.items() if name not in frame.columns}
    return frame.with_columns(**missing).select(list(SCHEMA))


PAGES = ["", "/samples", "/skills", "/compare", "/submissions", "/history", "/diff?before=1&after=2"]


def pages_of(server: Live, learners: list[str], samples: list[str]) -> Iterator[Any]:
    yield server.client.get("/")
    for path in PAGES:
        yield server.client.get(f"/benchmarks/small{path}")
    for name in learners:
        yield server.client.get("/benchmarks/small/learner", params={"learner": name})
        yield server.client.get("/benchmarks/small/compare", params={"a": name, "b": learners[-1]})
    for name in samples:
        yield server.client.get("/benchmarks/small/sample", params={"sample": name})
        yield server.client.get("/benchmarks/small/learner", params={"learner": name})


def test_names_and_content_are_text_in_every_page(live: Callable[..., Live], tmp_path: Path) -> None:
    server = live(folder=hostile(tmp_path))
    found = server.site.boards.own(server.benchmark())
    given = dict.fromkeys(found.sample_names, 1.0)
    token = server.token(ATTACKS[0])
    for attack in ATTACKS:
        answer = server.post(SUBMIT, token, {"learner": f"new {attack}", "responses": given})
        assert answer.status_code in (201, 422), answer.text
    server.post("/api/submissions/1/withdraw", token, {"reason": ATTACKS[1]})
    server.refit()
    learners = [
        row["learner"] for row in server.client.get("/api/benchmarks/small/leaderboard").json()["rows"]
    ]
    assert sum(name.startswith("new") for name in learners) >= 6
    for answer in pages_of(server, learners[:8], list(found.sample_names[:8])):
        assert answer.status_code in (200, 404, 422), answer.text
        structure = Structure()
        structure.feed(answer.text)
        assert structure.wrong == [], answer.url
        assert "main" in structure.tags


SECRET, KEY = "what nobody may see", "the right answer"


def unpacked(answer: Any) -> str:
    """All text of an answer: of Parquet its cells, of a report what its script unpacks."""
    if answer.headers["content-type"].endswith("parquet"):
        return str(pl.read_parquet(io.BytesIO(answer.content)).rows())
    text = answer.text
    for part in re.findall(r'type="application/octet-stream"[^>]*>([^<]+)<', text):
        text += zlib.decompress(base64.b64decode(part)).decode("utf-8", "replace")
    return text


def test_secret_content_is_in_no_answer(live: Callable[..., Live], tmp_path: Path) -> None:
    """Every route, the report and the Parquet files among them; what is not secret is shown."""
    table, folder = board_worlds.world(), asking_folder(tmp_path)
    hidden = list(table.samples[1:])
    server = live(folder=folder, secret=hidden)
    token = server.token("ann", "owner")
    server.submit(token, "new", GIVEN)
    server.refit()
    draw_report(server.site.store, server.benchmark(), server.site.boards.view("small").board.id)
    answers = [
        *pages_of(server, ["new", "learner 01"], hidden),
        *(server.client.get("/api/benchmarks/small/sample", params={"sample": name}) for name in hidden),
        *(
            server.client.get(f"/api/benchmarks/small{path}", headers={"Authorization": f"Bearer {token}"})
            for path in ("", "/leaderboard", "/leaderboard.parquet", "/samples", "/samples.parquet",
                         "/skills", "/boards", "/submissions", "/learner?learner=new",
                         "/compare?a=new&b=learner+01")
        ),
        server.client.get("/benchmarks/small/report"),
        server.client.get("/openapi.json"),
        server.client.get("/metrics"),
    ]  # fmt: skip
    assert len(answers) > 100
    assert "sample 07" in unpacked(server.client.get("/benchmarks/small/report"))
    for answer in answers:
        assert answer.status_code in (200, 404, 422), answer.url
        said = unpacked(answer)
        assert SECRET not in said, answer.url
        assert KEY not in said, answer.url
    shown = server.client.get("/api/benchmarks/small/sample", params={"sample": table.samples[0]}).json()
    assert shown["content"]["reference"] == KEY
    server = live(folder=folder)
    draw_report(server.site.store, server.benchmark(), 1)
    assert SECRET in unpacked(server.client.get("/benchmarks/small/report"))


def asking_folder(tmp_path: Path, name: str = "asks") -> Path:
    """A diagnosis whose samples have prompts and right answers."""
    table = board_worlds.world()
    frame = pl.DataFrame(
        {"sample": table.samples, "prompt": [f"{SECRET} {s}" for s in table.samples], "reference": [KEY] * 60}
    )
    table = ResponseTable(
        table.learners, table.samples, table.learner, table.sample, table.response,
        skill_map=table.skill_map, content=scratch_content(as_content(frame)),
    )  # fmt: skip
    return camilla.diagnose(table, "camilla-base", **board_worlds.SETTINGS).save(tmp_path / name)


def test_a_store_that_was_open_becomes_secret_and_stays_so(tmp_path: Path) -> None:
    """`serve` with and without its folder; the report that was drawn before had the prompts in it."""
    folder, store = asking_folder(tmp_path), str(tmp_path / "board.db")
    names = tmp_path / "names.txt"
    names.write_text("sample 01\nsample 07\n")

    def hidden(**settings: Any) -> int:
        served = site_of(Settings(store=store, policy=RefitPolicy(reports=False), **settings))
        application = Application(served.site, Limits(reads=1e6, writes=1e6), log=lambda event, **_: None)
        client = TestClient(application.asgi())
        of = client.get("/api/benchmarks/asks").json()["secret_samples"]
        for name in ("sample 01", "sample 07", "sample 30"):
            answer = client.get("/api/benchmarks/asks/sample", params={"sample": name}).json()
            assert (SECRET in json.dumps(answer)) is not answer["secret"]
        report = client.get("/benchmarks/asks/report")
        if of:
            assert report.status_code == 503 or SECRET not in unpacked(report)
        else:
            draw_report(served.site.store, served.site.boards.benchmark("asks"), 1)
            assert SECRET in unpacked(client.get("/benchmarks/asks/report"))
        served.close()
        return int(of)

    assert hidden(folders=[folder]) == 0
    assert hidden(secret=names) == 2
    assert hidden() == 2
    assert hidden(folders=[folder], secret=True) == 60
    assert hidden(secret=names) == 60
    assert hidden() == 60
    names.write_text("sample 01\nsample 7\n")
    with pytest.raises(SettingError, match="no sample 'sample 7' to keep secret"):
        site_of(Settings(store=store, secret=names))


def test_a_report_drawn_while_samples_become_secret_is_not_kept(
    live: Callable[..., Live], tmp_path: Path
) -> None:
    server = live(folder=asking_folder(tmp_path))
    before = server.benchmark()
    restrict(server.site.store, {"small": board_worlds.world().samples}, secret=True)
    draw_report(server.site.store, before, 1)
    assert server.client.get("/benchmarks/small/report").status_code == 503
    draw_report(server.site.store, server.benchmark(), 1)
    assert SECRET not in unpacked(server.client.get("/benchmarks/small/report"))


def test_every_answer_has_the_headers_that_guard_it(server: Live) -> None:
    paths = (
        "/",
        "/benchmarks/small",
        "/nothing",
        "/api/benchmarks",
        "/api/nothing",
        "/static/site.css",
        "/login",
    )
    for path in paths:
        answer = server.client.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "script-src" not in policy
        assert "server" not in answer.headers


def test_a_bug_shows_a_client_no_trace_of_the_code(
    live: Callable[..., Live], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, Any]] = []
    server = live(log=lambda event, **values: told.append({"event": event, **values}))

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a detail of the code")

    monkeypatch.setattr(server.site.boards, "view", broken)
    answer = server.client.get("/api/benchmarks/small/leaderboard")
    assert answer.status_code == 500
    assert answer.json() == {"error": BROKEN}
    assert any("a detail of the code" in str(one.get("error")) for one in told)


def test_what_is_damaged_in_the_store_is_told_to_the_log_alone(live: Callable[..., Live]) -> None:
    told: list[dict[str, Any]] = []
    server = live(log=lambda event, **values: told.append({"event": event, **values}))
    with server.site.store.writing() as transaction:
        transaction.run("UPDATE board_files SET content = :bytes", bytes=b"x")
    answer = server.client.get("/api/benchmarks/small/leaderboard")
    assert (answer.status_code, answer.json()["error"]) == (500, BROKEN)
    assert any("is damaged" in str(one.get("error")) for one in told)


def test_health_is_that_of_the_store(server: Live) -> None:
    assert server.client.get("/healthz").json()["store"] == "ok"
    server.site.store.close()
    Path(str(server.site.store.url.database)).write_bytes(b"no database" * 1000)
    for path in ("/healthz", "/api/benchmarks", "/"):
        answer = server.client.get(path)
        assert answer.status_code in (500, 503)
        assert str(server.site.store.url.database) not in answer.text


def test_too_many_requests_are_told_to_wait(live: Callable[..., Live]) -> None:
    server = live(limits=Limits(reads=5, writes=2))
    answers = [server.client.get("/benchmarks/small") for _ in range(7)]
    assert [one.status_code for one in answers] == [200] * 5 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) > 0
    token = server.token("ann")
    assert [server.post(SUBMIT, token, {}).status_code for _ in range(3)] == [400, 400, 429]


def test_a_bucket_fills_at_its_rate_and_each_has_its_own() -> None:
    limit = RateLimit(60)
    assert [limit.wait("a", at=0.0) for _ in range(60)] == [0.0] * 60
    assert limit.wait("a", at=0.0) == pytest.approx(1.0)
    assert limit.wait("a", at=0.5) == pytest.approx(0.5)
    assert limit.wait("a", at=1.6) == 0.0
    assert limit.wait("b", at=1.6) == 0.0


def test_pages_have_tags_that_change_with_the_board(server: Live) -> None:
    first = server.client.get("/benchmarks/small")
    again = server.client.get("/benchmarks/small", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    server.submit(server.token("ann"), "new", GIVEN)
    server.forget()
    changed = server.client.get("/benchmarks/small", headers={"If-None-Match": first.headers["etag"]})
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]


def test_links_lead_to_the_prefix_of_the_proxy(live: Callable[..., Live]) -> None:
    """Whether the proxy takes the prefix off or not."""
    server = live(prefix="/board")
    for path in ("/board/benchmarks/small", "/benchmarks/small"):
        page = server.client.get(path)
        assert page.status_code == 200
        links = re.findall(r'(?:href|action)="([^"]*)"', page.text)
        assert links
        assert all(link.startswith("/board/") for link in links)
    answer = server.client.post("/board/login", data={"token": server.token("ann")})
    assert answer.headers["location"] == "/board/"
    assert f"{COOKIE}=" in answer.headers["set-cookie"]
    assert "Path=/board/" in answer.headers["set-cookie"]


def test_nothing_listens_beyond_this_machine_unless_told_to() -> None:
    assert inspect.signature(serve).parameters["host"].default == "127.0.0.1"
