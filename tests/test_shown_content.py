"""Samples shown with prompts and answers: the right ones, and as text however hostile they are."""

import json
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

import camilla
from camilla.display import EXCERPT_LENGTH, EXCERPT_LINES, Excerpt, as_html, as_text, excerpt_lines
from command_line import camilla as command


def run_camilla(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = command(*arguments, cwd=cwd)
    assert done.returncode == code, done.stderr
    return done


HOSTILE = "\x1b[31mred\x9b2J \u202eoverride\u2066 <script>alert(1)</script>\x00\x07 [link](javascript:x)"


def table_of(answers: dict[str, dict[str, str]], key: dict[str, str]) -> pl.DataFrame:
    """A long table: {learner: {sample: answer}}, right where it is the key."""
    return pl.DataFrame(
        [
            {"learner": learner, "sample": sample, "response": float(answer == key[sample]),
             "prompt": f"question {sample}?", "reference": key[sample], "answer": answer,
             "reason": f"{learner} on {sample}"}
            for learner, said in answers.items() for sample, answer in said.items()
        ]
    )  # fmt: skip


@pytest.fixture
def two(tmp_path):
    key = {f"s{k}": "A" for k in range(8)}
    said = {"one": dict.fromkeys(key, "A"), "two": dict.fromkeys(key, "A")}
    said["one"] |= {"s6": "C"}
    said["two"] |= {"s1": "B", "s2": "D"}
    path = tmp_path / "two.csv"
    table_of(said, key).write_csv(path)
    return path


def test_compare_shows_what_flipped_each_way(two) -> None:
    found = camilla.compare(camilla.read(two), "one", "two")
    text = found.text(show=3)
    blocks = {block.split(":")[0]: block for block in text.split("\n\n") if "prompt:" in block}
    assert set(blocks) == {"s1", "s2", "s6"}
    assert "s1: lost by B" in text
    assert "s6: won by B" in text
    assert "one (1): A" in blocks["s1"]
    assert "two (0): B" in blocks["s1"]
    assert "one (0): C" in blocks["s6"]
    assert "reason: two on s1" in blocks["s1"]
    shown = found.to_document(show=1)["shown"]
    assert [one["sample"] for one in shown] == ["s1", "s6"]
    assert shown[0]["answers"][1] == {
        "learner": "two", "response": 0.0, "trial": 0, "answer": "B", "extracted": None, "reason": "two on s1"
    }  # fmt: skip
    assert "shown" not in found.to_document()


def test_rank_shows_samples_that_tell_the_leaders_apart(two) -> None:
    text = camilla.rank(camilla.read(two)).text(show=5)
    assert re.findall(r"^(s\d): tells the leaders apart", text, re.MULTILINE) == ["s1", "s2", "s6"]
    alike = camilla.read(pl.DataFrame({"learner": ["a", "b"], "sample": ["1", "1"], "response": [1, 1],
                                       "prompt": ["?", "?"]}))  # fmt: skip
    assert "the same response on every sample" in camilla.rank(alike).text(show=1)


def test_without_content_a_note_says_so() -> None:
    table = camilla.ResponseTable.from_matrix([[1, 0, 1], [0, 1, 1]])
    assert "nothing to show" in camilla.rank(table).text(show=1)
    assert "nothing to show" in camilla.compare(table, *table.learners).text(show=1)


@pytest.fixture(scope="module")
def contradicted() -> pl.DataFrame:
    """30 learners of rising ability on 40 samples; on s00 the able say B and the weak say A, the key is A."""
    key = {f"s{k:02d}": "A" for k in range(40)}
    said = {}
    for learner in range(30):
        solved = {f"s{k:02d}": "A" if k < 8 + learner else "C" for k in range(1, 40)}
        said[f"m{learner:02d}"] = {"s00": "A" if learner < 12 else "B"} | solved
    return table_of(said, key)


def test_items_counts_short_answers_of_content_like_votes(contradicted) -> None:
    """18 of 30 answer B to s00; the reference is shown as its key, but learners are not compared by keys."""
    found = camilla.items(camilla.read(contradicted))
    row = found.samples.filter(pl.col("sample") == "s00").to_dicts()[0]
    assert (row["other_answer"], row["other_votes"], row["answers"], row["key"]) == ("B", 18, 30, "A")
    assert found.provenance["n_keys"] is None
    first = found.samples["sample"][0]
    text = found.text(show=1)
    assert f"question {first}?" in text
    named = {*found.samples["failed_by"][0], *found.samples["solved_by"][0]}
    assert {one["learner"] for one in found.to_document(show=1)["shown"][0]["answers"]} == named
    without = camilla.items(camilla.read(contradicted, content=False))
    assert without.samples["other_answer"].null_count() == 40
    of_answers = [
        "look", "pattern", "why", "evidence", "key", "other_answer", "other_votes", "different_answers",
        "answers", "key_votes",
    ]  # fmt: skip
    both = (one.samples.sort("sample").drop(of_answers) for one in (without, found))
    assert next(both).equals(next(both))


def test_a_long_answer_among_them_is_no_vote(contradicted) -> None:
    long = pl.when((pl.col("sample") == "s00") & (pl.col("learner") == "m29")).then(pl.lit("B" * 100))
    found = camilla.items(camilla.read(contradicted.with_columns(answer=long.otherwise("answer"))))
    assert found.samples.filter(pl.col("sample") == "s00")["other_answer"].to_list() == [None]


def test_hostile_content_stays_text() -> None:
    excerpt = Excerpt(HOSTILE, (("prompt", HOSTILE), (HOSTILE, HOSTILE * 1000)))
    text = as_text([excerpt], 80)
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert len(text) < 20 * EXCERPT_LENGTH
    html = as_html([excerpt])
    assert "<script" not in html
    assert all(letter.isprintable() or letter == "\n" for letter in html)


def test_a_long_text_is_shown_in_part_with_its_start_and_end() -> None:
    lines = excerpt_lines("\n".join(f"line {k}" for k in range(100)))
    assert len(lines) == EXCERPT_LINES
    assert (lines[0], lines[-1]) == ("line 0", "line 99")
    assert sum(map(len, excerpt_lines("x" * 100_000))) <= EXCERPT_LENGTH


@pytest.mark.parametrize("name", ["rank", "compare", "items"])
def test_hostile_content_on_the_command_line(tmp_path, name) -> None:
    rows = [
        {"learner": f"m{n}", "sample": f"s{k}", "response": int((n + k) % 3 > 0),
         "prompt": HOSTILE.replace("\x00", ""), "answer": HOSTILE.replace("\x00", ""), "reason": "=1+1"}
        for n in range(6) for k in range(12)
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    pl.DataFrame(rows).write_ndjson(path)
    arguments = [name, str(path), *(["m0", "m1"] if name == "compare" else []), "--show", "2"]
    done = run_camilla(*arguments, cwd=tmp_path)
    assert "alert(1)" in done.stdout
    assert all(letter.isprintable() or letter == "\n" for letter in done.stdout)
    done = run_camilla(*arguments, "--json", cwd=tmp_path)
    assert all(letter.isprintable() or letter == "\n" for letter in done.stdout)
    shown = json.loads(done.stdout)["shown"]
    assert shown[0]["prompt"] == HOSTILE.replace("\x00", "")
    assert shown[0]["answers"][0]["answer"] == HOSTILE.replace("\x00", "")


def test_show_and_no_content_exclude_each_other(two) -> None:
    done = run_camilla("rank", str(two), "--show", "1", "--no-content", cwd=two.parent, code=2)
    assert "--no-content" in done.stderr


def test_load_writes_content_beside_the_table_unless_told_not_to(two, tmp_path) -> None:
    out = tmp_path / "out.parquet"
    run_camilla("load", str(two), "-o", str(out), cwd=tmp_path)
    assert (tmp_path / "out.content.parquet").is_file()
    assert camilla.read(out).content.answers("s1")["answer"].to_list() == ["A", "B"]
    run_camilla("load", str(two), "-o", str(out), "--no-content", cwd=tmp_path)
    assert not (tmp_path / "out.content.parquet").exists()


def test_diagnose_keeps_content_unless_told_not_to(two, tmp_path) -> None:
    run_camilla("diagnose", str(two), "-o", str(tmp_path / "kept"), "--with", "vanilla", cwd=tmp_path)
    run_camilla(
        "diagnose", str(two), "-o", str(tmp_path / "bare"), "--with", "vanilla", "--no-content", cwd=tmp_path
    )
    assert camilla.Diagnosis.load(tmp_path / "kept").content.sample("s1").reference == "A"
    assert camilla.Diagnosis.load(tmp_path / "bare").content is None


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (f"data:image/png;base64,{'A' * 96}", "embedded image/png, about 72 bytes"),
        ("cats/a.png", "cats/a.png"),
    ],
)
def test_an_embedded_image_is_named_by_its_kind_and_size(image: str, said: str) -> None:
    """96 characters of base64 are 72 bytes; a path is printed as it is."""
    rows = [
        {"learner": name, "sample": sample, "response": float(name == "one"), "image": image}
        for name in ("one", "two")
        for sample in ("s", "t")
    ]
    found = camilla.compare(camilla.read(pl.DataFrame(rows)), "one", "two")
    assert f"image: {said}" in found.text(show=1)
