"""What a new user does: serve the demo, make a token, submit with curl and with the form, withdraw."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import polars as pl
import pytest
from running_server import Server, running

import camilla
from command_line import camilla as run

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's diagnosis with the settings that it chooses, and files of two learners."""
    folder = tmp_path_factory.mktemp("demo")
    table = camilla.digits()
    camilla.diagnose(table, "camilla-base", skill_correlation=0.8, precision=3.0).save(folder / "diagnosis")
    of = {"with curl": "knn 5", "with the form": "tree 8"}
    for name, learner in of.items():
        rows = table.to_long().filter(pl.col("learner") == learner).select("sample", "response")
        rows.write_csv(folder / f"{name}.csv")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    words = ("diagnosis", "--name", "digits", "--store", "board.db", "--no-report", "--refit-seconds", 3600)
    with running(folder, *words) as server:
        yield server


@pytest.fixture(scope="module")
def token(folder: Path, server: Server) -> str:
    made = run("store", "add-token", "board.db", "--account", "ann", cwd=folder)
    assert made.returncode == 0, made.stderr
    assert "not shown again" in made.stderr
    return made.stdout.strip()


@pytest.fixture(scope="module")
def page(server: Server) -> Iterator[Any]:
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if where is None:
        pytest.skip("there is no Chromium; install it (apt-get install chromium) to run the browser tests")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=FLAGS)
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def curl(*words: str, token: str | None = None) -> tuple[int, Any]:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    bearer = [] if token is None else ["-H", f"Authorization: Bearer {token}"]
    done = subprocess.run(
        ["curl", "-sS", "-w", "\n%{http_code}", *bearer, *words], capture_output=True, text=True, check=True
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(body)


def row_of(server: Server, learner: str) -> dict[str, Any]:
    rows = server.json("/api/benchmarks/digits/leaderboard")["rows"]
    return {row["learner"]: row for row in rows}.get(learner, {})


def test_a_learner_submitted_with_curl_is_ranked_with_its_interval_and_withdrawn(
    server: Server, token: str, folder: Path
) -> None:
    """It has the responses of knn 5, so that it stands beside it; its interval holds that ability."""
    api = f"{server.address}/api"
    form = ["-F", f"file=@{folder / 'with curl.csv'}", "-F", "learner=with curl"]
    status, answer = curl(*form, f"{api}/benchmarks/digits/submissions", token=token)
    assert status == 201, answer
    number = answer["received"][0]["submission"]["id"]
    row, twin = row_of(server, "with curl"), row_of(server, "knn 5")
    assert row["rank"] == twin["rank"]
    assert row["low"] < twin["ability"] < row["high"]
    ties = server.json("/api/benchmarks/digits/leaderboard")["ties"]
    assert any({"with curl", "knn 5"} <= set(tie) for tie in ties)
    withdrawn = f"{api}/submissions/{number}/withdraw"
    status, answer = curl("-H", "Content-Type: application/json", "-d", "{}", withdrawn, token=token)
    assert (status, answer["withdrawn_by"]) == (200, "ann")
    assert server.until(lambda: not row_of(server, "with curl"))


def test_a_learner_submitted_with_the_form_is_shown_and_withdrawn_without_any_script(
    server: Server, token: str, folder: Path, page: Any
) -> None:
    page.goto(f"{server.address}/benchmarks/digits/submit")
    page.click("main >> text=Log in")
    page.fill("input[name=token]", token)
    page.click("main button")
    page.goto(f"{server.address}/benchmarks/digits/submit")
    page.fill("input[name=learner]", "with the form")
    page.set_input_files("input[name=file]", folder / "with the form.csv")
    page.click("main button")
    assert page.inner_text("h1") == "with the form"
    stands = page.inner_text("main table >> nth=0")
    row = row_of(server, "with the form")
    assert f"{row['low']:.3f} to {row['high']:.3f}" in stands
    page.click("nav >> text=Leaderboard")
    line = page.inner_text("tr:has-text('with the form')")
    assert "placed, board pending" in line
    assert f"{row['rank_low']}–{row['rank_high']}" in line
    page.click("nav >> text=Submissions")
    page.click("text=Withdraw with the form")
    assert "withdrawn" in page.inner_text("tr:has-text('with the form')")
    assert server.until(lambda: not row_of(server, "with the form"))


def test_a_wrong_file_is_refused_in_the_form_in_words(
    server: Server, token: str, folder: Path, page: Any
) -> None:
    (folder / "wrong.csv").write_text("learner,sample,response\nnew,digit-0001,7\n")
    page.goto(f"{server.address}/benchmarks/digits/submit")
    page.set_input_files("input[name=file]", folder / "wrong.csv")
    page.click("main button")
    assert "[0, 1]" in page.inner_text("[role=alert]")


def test_camilla_submit_says_where_the_learner_stands(
    server: Server, token: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = camilla.digits().take_learners([3]).to_long().with_columns(learner=pl.lit("by command"))
    own = table.select("learner", "sample", "response")
    elsewhere = own.head(2).with_columns(sample="elsewhere/" + pl.col("sample"))
    pl.concat([own, elsewhere]).write_csv(folder / "command.csv")
    monkeypatch.setenv("CAMILLA_TOKEN", token)
    done = run("submit", "command.csv", "--to", server.address, cwd=folder)
    assert done.returncode == 0, done.stderr
    row = row_of(server, "by command")
    assert "by command" in done.stdout
    assert f"{row['ability']:.3f}" in done.stdout
    left_out = "note: of by command, 2 responses are to samples that digits does not have, and left out."
    assert left_out in done.stderr
    again = run("submit", "command.csv", "--to", server.address, "--json", cwd=folder)
    document = json.loads(again.stdout)
    assert list(jsonschema_rs.validator_for(camilla.schema("submit")).iter_errors(document)) == []
    assert [one["new"] for one in document["received"]] == [False]
    monkeypatch.setenv("CAMILLA_TOKEN", "wrong")
    refused = run("submit", "command.csv", "--to", server.address, cwd=folder)
    assert refused.returncode == 1
    assert "answers 401: the token is not valid" in refused.stderr


def test_a_server_ends_when_it_is_told_to_and_says_so(folder: Path) -> None:
    with running(folder, "diagnosis", "--no-report") as server:
        assert server.json("/api/benchmarks")["benchmarks"][0]["name"] == "diagnosis"
        assert b"Submit" not in server.get("/benchmarks/diagnosis")
        assert server.stop() == 0
    assert server.events()[-1]["event"] == "end"
