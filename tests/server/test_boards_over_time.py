"""Submissions, boards and what stands on them, over time."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import board_worlds
import numpy as np
import polars as pl
import pytest
from board_worlds import Live

import camilla
from camilla.server.boards import table_of
from camilla.server.refitting import RefitPolicy, changes_since, next_job
from camilla.server.store import now
from camilla.statistics.standing import standing_by_errors
from camilla.table.responses import ResponseTable


def with_learners(**new: dict[str, float]) -> ResponseTable:
    """The world and learners besides, as a user would put them into one table."""
    frame = board_worlds.world().to_long().select("learner", "sample", "response")
    rows = [(name, sample, value) for name, given in new.items() for sample, value in given.items()]
    more = pl.DataFrame(rows, schema=frame.schema, orient="row")
    table = ResponseTable.from_long(pl.concat([frame, more]))
    skills = board_worlds.world().skill_map
    assert table.samples == board_worlds.world().samples
    return table.with_skills(skills)


@pytest.fixture
def server(live: Callable[..., Live]) -> Live:
    return live()


def test_a_stored_benchmark_has_the_responses_it_was_diagnosed_from(small_diagnosis: Path) -> None:
    found = camilla.Diagnosis.load(small_diagnosis)
    assert table_of(found).digest() == board_worlds.world().digest()


def test_trials_of_right_and_wrong_come_back_as_they_were(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "learner": ["a", "a", "a", "b", "b", "c", "c"],
            "sample": ["x", "x", "y", "x", "y", "x", "y"],
            "trial": [1, 2, 1, 1, 1, 1, 1],
            "response": [1, 0, 1, 0, 1, 1, 0],
        }
    )
    table = ResponseTable.from_long(frame, trial="trial")
    back = table_of(camilla.diagnose(table, "irt", precision=1.0))
    assert back.digest() == table.digest()
    assert back.is_binary


def test_a_submission_is_placed_at_once_where_place_puts_it(server: Live, small_diagnosis: Path) -> None:
    given = board_worlds.responses(0.5, seed=1)
    answer = server.submit(server.token("ann"), "new", given)
    row = answer["received"][0]["row"]
    placed = camilla.Diagnosis.load(small_diagnosis).place(
        pl.DataFrame({"learner": ["new"] * 60, "sample": list(given), "response": list(given.values())})
    )
    for name in ("ability", "low", "high", "accuracy"):
        assert row[name] == pytest.approx(placed[name][0], abs=1e-12)
    assert row["rank"] == placed["rank"][0]
    assert row["state"] == "placed"
    assert server.rows()["new"] == row


def test_ranks_and_ties_are_those_of_the_tests_over_everyone_on_the_board(server: Live) -> None:
    server.submit(server.token("ann"), "new", board_worlds.responses(0.5, seed=1))
    answer = server.client.get("/api/benchmarks/small/leaderboard").json()
    ability, se = (np.array([row[name] for row in answer["rows"]]) for name in ("ability", "se"))
    wanted = standing_by_errors(ability, se)
    assert wanted is not None
    assert [row["rank_low"] for row in answer["rows"]] == wanted.rank_low.tolist()
    names = [row["learner"] for row in answer["rows"]]
    assert answer["ties"] == [[names[place] for place in places] for places in wanted.ties]
    assert len(answer["rows"]) == board_worlds.N_LEARNERS + 1


def test_the_next_board_is_the_diagnosis_of_all_responses_in_one_table(server: Live) -> None:
    token = server.token("ann")
    one, other = board_worlds.responses(0.5, seed=1), board_worlds.responses(-1.0, seed=2)
    server.submit(token, "one", one)
    server.submit(token, "other", other)
    server.refit()
    wanted = camilla.diagnose(with_learners(one=one, other=other), "camilla-base", **board_worlds.SETTINGS)
    rows = server.rows()
    for row in wanted.learners.to_dicts():
        assert rows[row["learner"]]["ability"] == row["ability"]
        assert rows[row["learner"]]["state"] == "fitted"
        assert rows[row["learner"]]["rank"] == row["rank"]
    assert len(rows) == board_worlds.N_LEARNERS + 2


def test_what_is_withdrawn_leaves_the_board_at_once_and_the_next_board_too(server: Live) -> None:
    token = server.token("ann")
    number = server.submit(token, "new", board_worlds.responses(0.5, seed=1))["received"][0]["submission"][
        "id"
    ]
    server.refit()
    answer = server.post(f"/api/submissions/{number}/withdraw", token, {"reason": "wrong prompt"})
    assert answer.json()["withdrawn_by"] == "ann"
    server.forget()
    assert "new" not in server.rows()
    server.refit()
    own = camilla.diagnose(board_worlds.world(), "camilla-base", **board_worlds.SETTINGS)
    rows = server.rows()
    assert {name: row["ability"] for name, row in rows.items()} == dict(
        own.learners.select("learner", "ability").iter_rows()
    )
    kept = server.client.get(f"/api/submissions/{number}").json()
    assert kept["reason"] == "wrong prompt"


def test_the_same_submission_again_is_the_same_submission(server: Live) -> None:
    token, given = server.token("ann"), board_worlds.responses(0.5, seed=1)
    first = server.submit(token, "new", given)
    again = server.submit(token, "new", dict(reversed(given.items())), status=200)
    assert not again["received"][0]["new"]
    assert again["received"][0]["submission"] == first["received"][0]["submission"]
    assert len(server.client.get("/api/benchmarks/small/submissions").json()["submissions"]) == 1


def test_another_submission_of_a_name_replaces_the_first_and_both_are_kept(server: Live) -> None:
    token = server.token("ann")
    server.submit(token, "new", board_worlds.responses(0.0, seed=1))
    better = board_worlds.responses(1.5, seed=2)
    server.submit(token, "new", better)
    assert server.rows()["new"]["accuracy"] == pytest.approx(np.mean(list(better.values())))
    kept = server.client.get("/api/benchmarks/small/submissions").json()["submissions"]
    assert [(one["id"], one["reason"]) for one in kept] == [(2, None), (1, "replaced")]


def test_names_of_others_cannot_be_taken(server: Live) -> None:
    given = board_worlds.responses(0.0, seed=1)
    server.submit(server.token("ann"), "new", given)
    server.submit(server.token("bob"), "new", board_worlds.responses(1.0, seed=2), status=409)
    server.submit(server.token("bob"), "learner 03", given, status=409)


def test_the_board_of_a_moment_is_shown_as_it_was(server: Live) -> None:
    """Before anything, with one placed, fitted, and after it was withdrawn; and again after all of that."""
    token, moments = server.token("ann"), []

    def look() -> None:
        server.forget()
        moments.append((now(), server.rows()))
        time.sleep(0.002)

    look()
    number = server.submit(token, "new", board_worlds.responses(0.5, seed=1))["received"][0]["submission"][
        "id"
    ]
    look()
    server.refit()
    look()
    server.post(f"/api/submissions/{number}/withdraw", token, {})
    look()
    server.submit(token, "newer", board_worlds.responses(1.0, seed=2))
    server.refit()
    look()
    assert [sum("new" in name for name in rows) for _, rows in moments] == [0, 1, 1, 0, 1]
    for moment, rows in moments:
        assert server.rows(on=moment) == rows
    today = now()[:10]
    assert server.rows(on=today) == moments[-1][1]
    assert server.client.get("/api/benchmarks/small/leaderboard?on=2001-01-01").status_code == 404


def test_a_learner_has_a_history_and_two_boards_a_difference(server: Live) -> None:
    token = server.token("ann")
    server.submit(token, "new", board_worlds.responses(0.5, seed=1))
    server.refit()
    server.submit(token, "newer", board_worlds.responses(1.0, seed=2))
    server.refit()
    answer = server.client.get("/api/benchmarks/small/learner", params={"learner": "new"}).json()
    assert [row["board"] for row in answer["history"]] == [2, 3]
    assert answer["history"][-1]["ability"] == server.rows()["new"]["ability"]
    rows = server.client.get("/api/benchmarks/small/diff?before=2&after=3").json()["rows"]
    changed = {row["learner"]: row for row in rows}
    assert changed["newer"]["rank_before"] is None
    assert changed["new"]["ability_before"] == answer["history"][0]["ability"]
    assert [row["rank_after"] for row in rows] == list(range(1, board_worlds.N_LEARNERS + 3))


def test_boards_name_the_submissions_they_are_made_of(server: Live) -> None:
    server.submit(server.token("ann"), "new", board_worlds.responses(0.5, seed=1))
    server.refit()
    newest, first = server.client.get("/api/benchmarks/small/boards").json()["boards"]
    assert (newest["number"], newest["n_submissions"]) == (2, 1)
    assert (first["number"], first["n_submissions"]) == (1, 0)
    assert newest["submissions_hash"] != first["submissions_hash"]


def test_a_refit_is_due_after_enough_changes_or_enough_time(server: Live) -> None:
    store, patient = server.site.store, RefitPolicy(changes=2, seconds=3600, reports=False)
    token = server.token("ann")
    assert next_job(store, patient) is None
    number = server.submit(token, "new", board_worlds.responses(0.5, seed=1))["received"][0]["submission"][
        "id"
    ]
    assert next_job(store, patient) is None
    hurried = next_job(store, RefitPolicy(changes=2, seconds=0, reports=False))
    assert hurried is not None
    assert hurried.kind == "refit"
    server.submit(token, "newer", board_worlds.responses(0.6, seed=2))
    assert next_job(store, patient) == hurried
    server.refit()
    assert next_job(store, patient) is None
    server.post(f"/api/submissions/{number}/withdraw", token, {})
    with store.reading() as transaction:
        board = server.site.boards.view("small").board
        assert len(changes_since(transaction, server.benchmark(), board)) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {name: 1.0 for name, value in board_worlds.responses(0.5, seed=1).items() if value == 1},
            "this benchmark takes submissions with responses to all of them",
        ),
        ({"nowhere": 1.0}, "none of the samples belongs to this benchmark"),
        ({"sample 01": 0.5}, "responses of this benchmark are 0 or 1"),
    ],
)
def test_what_cannot_be_placed_is_refused_with_the_reason(
    server: Live, given: dict[str, float], says: str
) -> None:
    answer = server.submit(server.token("ann"), "new", given, status=422)
    assert says in answer["error"]
    assert server.client.get("/api/benchmarks/small/submissions").json()["submissions"] == []


def test_unknown_samples_are_left_out_and_counted(server: Live) -> None:
    given = board_worlds.responses(0.5, seed=1)
    answer = server.submit(server.token("ann"), "new", given | {"sample 99": 1.0})
    assert answer["received"][0]["submission"]["n_unknown"] == 1
    assert answer["received"][0]["row"]["n"] == 60


def test_the_owner_says_what_share_of_the_samples_is_enough(live: Callable[..., Live]) -> None:
    """45 of 60 are three quarters; one fewer is not. The share is in the store, not in the server."""
    given = board_worlds.responses(0.5, seed=1)
    first = live(least_share=0.75)
    server = live(str(first.site.store.url.database))
    assert server.client.get("/api/benchmarks/small").json()["least_share"] == 0.75
    few, enough = (dict(list(given.items())[:n]) for n in (44, 45))
    refused = server.submit(server.token("ann"), "few", few, status=422)["error"]
    assert "learner 'few' has responses to 44 of 60 samples" in refused
    assert "at least 45 of them" in refused
    assert server.submit(server.token("ann"), "enough", enough)["received"][0]["row"]["n"] == 45
    page = server.client.get("/benchmarks/small").text
    assert ">responses</th>" in page
    assert re.search(r"enough.*?<bdi>45</bdi></td>", page, re.DOTALL)
