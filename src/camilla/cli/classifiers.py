"""`camilla classifiers`: scores of classifiers in, mastery, agreement and a multi-skill leaderboard out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.diagnose import fitting, warn_of_skills
from camilla.display import print_frame, print_json
from camilla.names import shown

if TYPE_CHECKING:
    import polars as pl

    from camilla.classifiers import ClassifierDiagnosis, PlacedClassifiers
    from camilla.classifiers.scores import ClassifierScores

LONGEST_HEADER = 14


def classifiers(
    scores: Annotated[
        list[Path], typer.Argument(help="CSV or Parquet: data_set, sample, truth, one column a classifier.")
    ],
    with_: Annotated[
        str, typer.Option("--with", help="Diagnoser, with settings if any: mirt:use_skills=true.")
    ] = "camilla-base",
    skills: Annotated[
        str | None, typer.Option(help="Skill map of samples, metrics or data sets: FILE or FILE:column.")
    ] = None,
    skill_graph: options.SkillGraphFile = None,
    rule: Annotated[
        str, typer.Option(help="Equal-error threshold: interpolated or discrete.")
    ] = "interpolated",
    ks: Annotated[str, typer.Option(help="Kolmogorov–Smirnov: two_sided or one_sided.")] = "two_sided",
    ranks: Annotated[
        bool, typer.Option("--ranks", help="Diagnose each metric's ranks, so that all samples count alike.")
    ] = False,
    new: Annotated[
        list[str] | None, typer.Option(help="Classifier left out of the fit and placed; may be repeated.")
    ] = None,
    among: Annotated[
        Path | None, typer.Option(help="Folder of an earlier run: place all of SCORES among its classifiers.")
    ] = None,
    data_set: Annotated[str | None, typer.Option(help="Column of the data set.")] = None,
    sample: options.SampleOption = None,
    truth: Annotated[str | None, typer.Option(help="Column of the truth, 0 or 1.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column that is no classifier; may be repeated.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing score; may be repeated.")
    ] = None,
    learners: Annotated[int, typer.Option(min=0, help="How many classifiers to print.")] = 10,
    seed: options.SeedOption = 0,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write to.")] = None,
    json: options.JsonOption = False,
) -> None:
    """Diagnose score-based classifiers by 22 metrics on each data set."""
    from camilla.classifiers.scores import ScoreColumns, read_scores

    read = read_scores(
        scores, ScoreColumns(data_set, sample, truth, tuple(ignore or ()), tuple(missing or ()))
    )
    if among is not None:
        _place_among(among, read, json=json)
        return
    found = _diagnosed(read, with_, skills, skill_graph, taken=(rule, ks, ranks), new=new or [], seed=seed)
    if output is not None:
        found.save(output)
    if json:
        print_json(found.document())
        return
    _print_diagnosis(found, learners)
    if found.placed is not None:
        _print_placed(found.placed, found.table.n_learners)
    if output is not None:
        typer.echo(f"Written to {output}. One classifier: camilla show {output}/diagnosis --learner NAME")


def _diagnosed(
    read: "ClassifierScores", with_: str, skills: str | None, skill_graph: Path | None, *,
    taken: tuple[str, str, bool], new: list[str], seed: int,
) -> "ClassifierDiagnosis":  # fmt: skip
    from camilla.classifiers import diagnose_classifiers
    from camilla.diagnosing import contender
    from camilla.reading.skills import read_skill_graph

    chosen = contender(with_)
    rule, ks, ranks = taken
    graph = None if skill_graph is None else read_skill_graph(skill_graph)
    with fitting(chosen.name) as watch:
        found = diagnose_classifiers(
            read, chosen.name, skills=skills, skill_graph=graph, new=new, rule=rule, ks=ks, ranks=ranks,  # type: ignore[arg-type]
            seed=seed, as_published=chosen.as_published, watch=watch, **chosen.settings,
        )  # fmt: skip
    for copy, original in found.duplicates.items():
        typer.echo(f"note: {shown(copy)!r} has the metrics of {shown(original)!r} and is left out", err=True)
    if found.diagnosis.readout.explicit and found.table.skill_map is not None:
        warn_of_skills(found.table.skill_map)
    return found


def _place_among(folder: Path, read: "ClassifierScores", *, json: bool) -> None:
    from camilla.classifiers import load_classifiers

    saved = load_classifiers(folder)
    placed = saved.place(read)
    if json:
        print_json({"provenance": saved.diagnosis.provenance} | placed.document())
    else:
        _print_placed(placed, len(saved.diagnosis.learner_names))


def _print_diagnosis(found: "ClassifierDiagnosis", learners: int) -> None:
    import polars as pl

    made, taken, board = found.diagnosis.provenance, found.taken, found.leaderboard().head(learners)
    skills = found.diagnosis.skills["skill"].unique(maintain_order=True).to_list()
    print_frame(
        board.select("rank", "learner", "ability", "low", "high", "mean").hstack(
            [_beside(board, skill, place) for place, skill in enumerate(skills)]
        ),
        title=f"{made['n_learners']} classifiers by ability ({made['scale']}), mastery / plain mean by skill",
    )
    print_frame(found.agreement.skills, title="agreement of mastery with the metrics, by skill")
    summary = found.agreement.summary
    rows = pl.DataFrame([{name: summary[name] for name in _SUMMARY}])
    print_frame(rows, title="over all skills (…_weighted: by number of samples)")
    chosen = ", ".join(f"{name} {value}" for name, value in made["chosen_on_validation"].items())
    typer.echo(
        f"{made['diagnoser']}" + (f" ({chosen}, chosen on held-out responses)" if chosen else "")
        + f", {taken.rule} equal-error threshold, {taken.ks} KS{', ranks' if taken.ranks else ''}, "
        + f"seed {made['seed']}, "
        + f"data {made['data_hash'][:12]}, {len(found.duplicates)} duplicates left out."
    )  # fmt: skip


_SUMMARY = (
    "r2", "r2_within", "doa", "doc", "ceiling", "borda", "random", "null", "doa_star", "doa_weighted",
    "ceiling_weighted",
)  # fmt: skip


def _beside(board: "pl.DataFrame", skill: str, place: int) -> "pl.Series":
    """Both numbers of a skill under as much of its name as fits; the next table has the whole name."""
    import polars as pl

    header = skill if len(skill) <= LONGEST_HEADER else f"{place + 1}. {skill[: LONGEST_HEADER - 4]}…"
    pairs = zip(board[skill], board[f"{skill} mean"], strict=True)
    return pl.Series(header, [f"{_short(mastery)} / {_short(mean)}" for mastery, mean in pairs])


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _print_placed(placed: "PlacedClassifiers", n_learners: int) -> None:
    import polars as pl

    print_frame(
        placed.learners.select("learner", "rank", "ability", "low", "high", "mean", "n", "n_unknown"),
        title=f"placed among {n_learners} classifiers, samples frozen",
    )
    for name in placed.learners["learner"]:
        rows = placed.skills.filter(pl.col("learner") == name)
        print_frame(
            rows.select("skill", "rank", "mastery", "mastery_low", "mastery_high", "mean"),
            title=f"{shown(name)} by skill: mastery with its 95 % interval, plain mean of the metrics",
        )
