"""What samples ask and learners answered, in the report: shown as text, counted, folded, or left out."""

import base64
import io
import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image

import camilla
import command_line
from camilla.errors import DataError
from camilla.show.report import content
from camilla.show.report.build import report

N_LEARNERS, N_SAMPLES = 40, 48
REVERSED = 7  # the key of this sample is wrong: the able answer B, the key says C
SCRIPT = "<script>document.title='owned'</script>"
SVG = "<svg xmlns='http://www.w3.org/2000/svg' onload=\"document.title='owned'\"></svg>"
PNG = camilla.digits().content.sample("digit-0000").image  # type: ignore[union-attr]
RAW = base64.b64decode(PNG.split(",")[1])


def data(kind: str, text: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(text).decode()}"


PROMPTS = [
    SCRIPT,
    "</script></style><img src=x onerror=\"document.title='owned'\">",
    "[click](javascript:document.title='owned') javascript:document.title='owned'",
    "right\u202eto left\u202c mark\u200f, nothing\u0000, bell\u0007\nsecond line",
    "start " + "long " * 2_000_000 + "the very end",
    "half of a pair: \ud800 and {{7*7}} ${7*7}",
]
IMAGES = [
    PNG,
    data("image/svg+xml", SVG.encode()),
    data("image/png", SVG.encode()),
    data("text/html", SCRIPT.encode()),
    data("image/svg+xml", RAW),  # its own bytes say PNG
    PNG[:-40] + "!",
    "javascript:document.title='owned'",
    "https://example.org/\"><script>document.title='owned'</script>",
    "https://example.org/a.png?x=1&y=2",
    "file:///etc/passwd",
    "../pictures/\u202egnp.exe",
    "data:image/png;base64,",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved diagnosis whose prompts, images and answers are hostile; one sample has a wrong key."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(3)
    ability = np.linspace(-2, 2, N_LEARNERS)
    chance = 1 / (1 + np.exp(-2 * (ability[:, None] - rng.normal(size=N_SAMPLES))))
    right = rng.random(chance.shape) < chance
    right[:, REVERSED] = ability < 0
    with (folder / "log.jsonl").open("w", encoding="utf-8") as file:
        for j in range(N_SAMPLES):
            asked = {
                "sample": f"s{j:02d}",
                "prompt": PROMPTS[j % len(PROMPTS)] if j < 12 else f"what is {j}?",
            }
            asked |= {"image": IMAGES[j] if j < len(IMAGES) else None}
            asked |= {"reference": "C", "choices": [SCRIPT, "B", "C"]}
            for i in range(N_LEARNERS):
                wrong = "B" if i % 3 or j == REVERSED else SCRIPT[:30]
                row = {"learner": f"model {i:02d}", "response": int(right[i, j]), "answer": "C"}
                row |= {} if right[i, j] else {"answer": wrong, "reason": SCRIPT}
                file.write(json.dumps(row | (asked if i == 0 else {"sample": asked["sample"]})) + "\n")
    table = camilla.read(folder / "log.jsonl")
    return camilla.diagnose(table, "irt", precision=1.0).save(folder / "found")


@pytest.fixture(scope="module")
def hostile_page(hostile: Path) -> Path:
    return report(hostile, hostile.parent / "page.html").page


WALK = """async (names) => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const told = () => document.querySelector("main h1").textContent;
  const there = (name) => told() === name && !document.querySelector("[aria-busy]");
  const seen = {};
  for (const name of names) {
    location.hash = `#/samples?sample=${encodeURIComponent(name)}`;
    do await wait(20); while (!there(name));
    const asked = document.querySelector("main .question");
    seen[name] = {
      title: document.title,
      active: document.querySelectorAll("main script, main style, main iframe, main object").length,
      choices: document.querySelector("main .choices").textContent,
      text: asked.textContent,
      images: [...asked.querySelectorAll("img")].map((one) => one.getAttribute("src")),
      links: [...asked.querySelectorAll("a")].map((one) => [one.rel, one.target, one.textContent]),
      answers: document.querySelectorAll("main .answers .said").length,
    };
  }
  return seen;
}"""  # one call for all samples


class Walked(NamedTuple):
    """What is on the page of each hostile sample, what the browser complained of, what was asked for."""

    seen: dict[str, Any]
    trouble: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def walked(hostile_page: Path, chromium: Any) -> Iterator[Walked]:
    context = chromium.new_context(offline=True)
    page = context.new_page()
    trouble: list[str] = []
    requests: list[str] = []
    page.on("console", lambda said: trouble.append(said.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(hostile_page.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield Walked(page.evaluate(WALK, [f"s{j:02d}" for j in range(len(IMAGES))]), trouble, requests)
    context.close()


def test_hostile_content_is_text_and_nothing_runs(hostile_page: Path, walked: Walked) -> None:
    seen = walked.seen
    assert {one["title"] for one in seen.values()} == {"40 learners on 48 samples · Camilla"}
    assert {one["active"] for one in seen.values()} == {0}
    assert all(SCRIPT in one["choices"] for one in seen.values())
    assert SCRIPT in seen["s00"]["text"]
    assert PROMPTS[1] in seen["s01"]["text"]
    assert walked.trouble == []
    assert {url for url in walked.requests if url != PNG} == {hostile_page.as_uri()}


def test_only_images_whose_bytes_say_so_are_shown(walked: Walked) -> None:
    """PNG data is shown, whatever it is called; SVG and HTML are not, whatever they are called."""
    images = [one["images"] for one in walked.seen.values()]
    assert images == [[PNG] if j in (0, 4) else [] for j in range(len(IMAGES))]
    refused = [j for j, one in enumerate(walked.seen.values()) if "Not shown: a" in one["text"]]
    assert refused == [1, 2, 3, 5, 11]


def test_only_web_addresses_are_links_and_are_seen_in_full(walked: Walked) -> None:
    links = {j: one["links"] for j, one in enumerate(walked.seen.values()) if one["links"]}
    assert links == {j: [["noopener noreferrer", "_blank", IMAGES[j]]] for j in (7, 8)}
    for j in (6, 9, 10):
        assert IMAGES[j].replace("\u202e", r"\u202e") in walked.seen[f"s{j:02d}"]["text"]


def test_marks_are_spelled_out_and_long_text_is_cut(walked: Walked) -> None:
    seen = walked.seen
    spelled = r"right\u202eto left\u202c mark\u200f, nothing\x00, bell\x07" + "\nsecond line"
    assert spelled in seen["s03"]["text"]
    assert len(seen["s04"]["text"]) < 30_000
    assert "characters" in seen["s04"]["text"]
    assert "the very end" in seen["s04"]["text"]
    assert re.search(r"half of a pair: .{0,6} and \{\{7\*7\}\} \$\{7\*7\}", seen["s05"]["text"])


def test_text_that_is_no_unicode_is_refused_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(b"learner,sample,response,prompt\na,s,1,\xff\xfe\n")
    with pytest.raises(DataError, match="cannot be read as UTF-8"):
        camilla.read(tmp_path / "log.csv")


def test_a_wrong_key_is_seen(hostile_page: Path, opened: Callable[..., Any]) -> None:
    """The able half answered B on the sample whose key is C, and it is flagged for it."""
    half = N_LEARNERS // 2
    said = f"{half} of {N_LEARNERS} answer B, {half} the key C."
    shown = opened(hostile_page)
    page = shown.go("samples")
    assert said in page.inner_text("main section.prose")
    page.get_by_role("link", name="s07").first.click()
    shown.until("document.querySelector('main .answers') !== null")
    callout = page.inner_text("main .callout")
    assert said in callout
    assert "far likelier if its key is wrong" in callout
    assert f"Wrong: {N_LEARNERS // 2}" in page.inner_text("main .answers")
    assert f"{N_LEARNERS // 2} learners:" in page.inner_text("main .answers section:nth-child(2)")


def test_prompts_can_be_searched(hostile_page: Path, opened: Callable[..., Any]) -> None:
    page = opened(hostile_page).go("samples")
    page.get_by_role("searchbox").fill("what is 2")
    assert page.inner_text("main .table .bar [role=status]") == "10 rows"


def test_the_samples_that_decide_between_two(
    hostile_page: Path, hostile: Path, opened: Callable[..., Any]
) -> None:
    """Those that one solved and the other did not, by discrimination, computed from the saved frames."""
    found = camilla.Diagnosis.load(hostile)
    first, second = found.learners["learner"][0], found.learners["learner"][20]
    who = np.array(found.learner_names)[found.cells.learner]
    what = np.array(found.sample_names)[found.cells.sample]
    cells = dict(zip(zip(who, what, strict=True), found.cells.response, strict=True))
    apart = [
        (-weight, name)
        for name, weight in found.samples.select("sample", "discrimination").iter_rows()
        if cells[first, name] != cells[second, name]
    ]
    assert len(apart) > 6
    wanted = [name for _, name in sorted(apart)]
    shown = opened(hostile_page)
    page = shown.go("compare?" + urlencode({"learners": json.dumps([first, second])}))
    shown.until("!document.querySelector('[aria-busy]')")
    assert page.locator("main .decides h3").all_inner_texts() == wanted[:3]
    both = page.inner_text("main .decides .both")
    assert {"right", "wrong"} <= set(re.findall(r"right|wrong", both))
    page.get_by_role("button", name="Show three more").click()
    assert page.locator("main .decides h3").all_inner_texts() == wanted[:6]
    assert shown.trouble == []


def test_counts_are_those_of_items(hostile: Path) -> None:
    """The report and `camilla items` name the same leading wrong answer, with as many votes."""
    table = camilla.read(hostile.parent / "log.jsonl")
    items = camilla.items(table).samples.select("sample", "other_answer", "other_votes", "answers")
    of = content.Diagnosed("found", camilla.Diagnosis.load(hostile))
    packed = content.PackedContent(of, of.found.content)  # type: ignore[arg-type]
    list(packed.pieces())
    counted = {
        name: (other or None, votes or None, known)
        for name, other, votes, known in zip(
            packed.names, packed.asked.other, packed.asked.votes, packed.asked.known, strict=True
        )
    }
    assert counted == {name: (other, votes, known) for name, other, votes, known in items.iter_rows()}


def test_of_several_trials_only_what_is_surely_wrong_is_counted(tmp_path: Path) -> None:
    """m0 is right in one of two trials: none of its answers is surely wrong. m1 says B twice: one vote."""
    rows = [f"m0,s{j},{trial},{trial},{'BC'[trial]}" for j in range(4) for trial in (0, 1)]
    rows += [f"m1,s{j},{trial},0,B" for j in range(4) for trial in (0, 1)]
    rows += [f"m{i},s{j},{trial},{j % 2},{'DC'[j % 2]}" for i in (2, 3) for j in range(4) for trial in (0, 1)]
    (tmp_path / "log.csv").write_text("learner,sample,trial,response,answer\n" + "\n".join(rows))
    table = camilla.read(tmp_path / "log.csv", trial="trial")
    found = camilla.diagnose(table, "vanilla")
    packed = content.PackedContent(content.Diagnosed("found", found), found.content)  # type: ignore[arg-type]
    list(packed.pieces())
    assert packed.asked.other == ["D", "B", "D", "B"]
    assert packed.asked.votes.tolist() == [2, 1, 2, 1]
    assert packed.asked.known.tolist() == [4, 4, 4, 4]


def test_without_content_nothing_of_it_is_in_the_page(hostile: Path, tmp_path: Path) -> None:
    run = command_line.camilla("report", hostile, "-o", "bare.html", "--no-content", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert 'id="content-' not in (tmp_path / "bare.html").read_text(encoding="utf-8")
    document = unpacked(tmp_path / "bare.html")
    assert document["diagnoses"][0]["content"] is None
    assert "what is 20?" not in json.dumps(document)


def unpacked(page: Path) -> dict[str, Any]:
    """The header of the page's data, where its texts are."""
    found = re.search(r'id="data">([^<]*)<', page.read_text(encoding="utf-8"))
    assert found is not None
    raw = zlib.decompress(base64.b64decode(found[1]))
    header: dict[str, Any] = json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")])["document"]
    return header


@pytest.fixture
def folded(hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with room for one piece; the others lie beside it. Its name is no plain address."""
    monkeypatch.setattr(content, "PIECE", 15_000)
    monkeypatch.setattr(content, "MOST_EMBEDDED", 2000)
    written = report(hostile, tmp_path / "50% #1 report.html")
    assert written.files == tmp_path / "50% #1 report_files"
    return written.page


def test_what_is_beside_the_page_is_read_when_it_is_opened(folded: Path, opened: Callable[..., Any]) -> None:
    """From files, under a policy that allows no script but the page's own, with nothing asked elsewhere."""
    text = folded.read_text(encoding="utf-8")
    assert "frame-src 'self'" in text
    shown = opened(folded)
    said = shown.go("samples").inner_text("main")
    held = re.search(r"of (\d+) of 48 samples are in this page; those of (\d+) are beside it in", said)
    assert held is not None
    assert int(held[1]) + int(held[2]) == N_SAMPLES
    seen = shown.page.evaluate(WALK, [f"s{j:02d}" for j in range(N_SAMPLES)])
    assert all(one["answers"] >= 1 for one in seen.values())
    assert shown.trouble == []
    folder = folded.with_name(f"{folded.stem}_files").as_uri()
    files = set(shown.asked_elsewhere())
    assert len(files) >= 2
    assert all(url.startswith(folder) for url in files)


def test_a_page_without_its_folder_says_so(folded: Path, opened: Callable[..., Any]) -> None:
    shutil.rmtree(folded.with_name(f"{folded.stem}_files"))
    page = opened(folded).go("samples?sample=s40")
    page.wait_for_selector("main .content .callout", timeout=20_000)
    assert "Keep page and folder together" in page.inner_text("main .content .callout")


def test_folder_and_page_are_whole_or_not_there(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of someone else is kept; a later report without content takes its own folder away."""
    monkeypatch.setattr(content, "MOST_EMBEDDED", 0)
    (tmp_path / "page_files").mkdir()
    with pytest.raises(DataError, match="exists and is not part of a report"):
        report(hostile, tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page_files"]
    (tmp_path / "page_files").rmdir()
    written = report(hostile, tmp_path / "page.html")
    assert written.files is not None
    report(hostile, tmp_path / "page.html", content=False)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_content_beyond_all_limits_is_left_out_and_said(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "MOST_EMBEDDED", 0)
    monkeypatch.setattr(content, "MOST_BESIDE", 0)
    written = report(hostile, tmp_path / "page.html")
    assert written.files is None
    found = unpacked(written.page)["diagnoses"][0]["content"]
    assert (found["embedded"], found["beside"], found["left_out"]) == (0, 0, N_SAMPLES)


def test_a_comparison_shows_its_samples(hostile: Path, tmp_path: Path, opened: Callable[..., Any]) -> None:
    """`camilla compare --json --show` carries content, which the report shows as text."""
    told = ("compare", "log.jsonl", "model 00", "model 39", "--show", 2, "--json")
    run = command_line.camilla(*told, cwd=hostile.parent)
    (tmp_path / "two.json").write_text(run.stdout, encoding="utf-8")
    shown = opened(report(tmp_path / "two.json", tmp_path / "page.html").page)
    page = shown.go("comparisons")
    assert page.locator("main .decides").count() >= 2
    assert "model 39: right" in " ".join(page.locator("main .decides").all_inner_texts())
    assert shown.trouble == []
    bare = report(tmp_path / "two.json", tmp_path / "bare.html", content=False).page
    assert unpacked(bare)["comparisons"][0]["shown"] == []


def drawn(kind: str, size: tuple[int, int] = (9, 7), **settings: Any) -> bytes:
    """A picture as Pillow writes it."""
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, kind, **settings)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (data("x", drawn("gif")), "source"),
        (data("x", drawn("jpeg", progressive=True)), "source"),
        (data("x", drawn("jpeg", comment=b"\xff\xc0" * 99)), "source"),
        (data("x", drawn("webp")), "source"),
        (data("x", drawn("webp", lossless=True)), "source"),
        (data("image/webp", b"RIFF\0\0\0\0WAVE"), "refused"),
        (data("image/jpeg", b"\xff\xd8\xff\xe0"), "refused"),
        (data("image/png", RAW + b"\0" * content.MOST_IMAGE), "refused"),
        (data("image/png", drawn("png", (4000, 1001))), "refused"),
        (data("image/gif", drawn("gif", (1001, 4000))), "refused"),
        (data("image/jpeg", drawn("jpeg", (4000, 1001), quality=1)), "refused"),
        (data("image/webp", drawn("webp", (4000, 1001))), "refused"),
        (data("image/webp", drawn("webp", (1001, 4000), lossless=True)), "refused"),
        ("data:image/png,plain", "text"),
        ("HTTPS://EXAMPLE.ORG/A.PNG", "link"),
        ("https://example.org/a b", "text"),
        ("vbscript:x", "text"),
    ],
    ids=lambda one: one[:24],
)
def test_what_becomes_of_an_image(text: str, wanted: str) -> None:
    assert list(content.image(text)) == [wanted]


@pytest.mark.parametrize("kind", ["png", "gif", "jpeg", "webp"])
def test_sizes_of_images_are_read(kind: str) -> None:
    assert content.SIZES[kind](drawn(kind, (300, 41))) == (300, 41)
    assert content.SIZES["webp"](drawn("webp", (300, 41), lossless=True, exif=b"Exif")) == (300, 41)


def test_image_files_are_read_in_the_named_folder_alone(tmp_path: Path) -> None:
    """Not above it, not by an absolute path, not through a link that leads out; and only images."""
    folder = tmp_path / "images"
    (folder / "cats").mkdir(parents=True)
    for place in (folder / "cats/a.png", tmp_path / "secret.png"):
        place.write_bytes(RAW)
    (folder / "notes.png").write_text("no image")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    assert content.image("cats/a.png", folder) == content.image(str(folder / "cats/a.png"), folder)
    assert content.image("cats/a.png", folder) == {"source": PNG}
    for outside in (
        "../secret.png",
        str(tmp_path / "secret.png"),
        "link.png",
        "cats",
        "no\0name",
        "x" * 5000,
    ):
        assert list(content.image(outside, folder)) == ["text"]
    assert list(content.image("notes.png", folder)) == ["refused"]
    assert list(content.image("cats/a.png")) == ["text"]
