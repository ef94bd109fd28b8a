"""`camilla classifiers`: scores of classifiers in, mastery, agreement and a multi-skill leaderboard out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.completing import diagnosers, one_of
from camilla.cli.diagnose import fitting, warn_of_skills
from camilla.display import aside, print_json, say
from camilla.names import shown

if TYPE_CHECKING:
    from camilla.classifiers import ClassifierDiagnosis
    from camilla.classifiers.scores import ClassifierScores


def classifiers(
    scores: Annotated[
        list[Path], typer.Argument(help="CSV or Parquet: data_set, sample, truth, one column per classifier.")
    ],
    with_: Annotated[
        str,
        typer.Option(
            "--with", help="Diagnoser, with settings if any: mirt:use_skills=true.", autocompletion=diagnosers
        ),
    ] = "camilla-base",
    skills: Annotated[
        str | None, typer.Option(help="Skill map of samples, metrics or data sets: FILE or FILE:column.")
    ] = None,
    skill_graph: options.SkillGraphFile = None,
    rule: Annotated[
        str,
        typer.Option(
            help="Equal-error threshold: interpolated or discrete.",
            autocompletion=one_of("interpolated", "discrete"),
        ),
    ] = "interpolated",
    ks: Annotated[
        str,
        typer.Option(
            help="Kolmogorov–Smirnov statistic: two_sided or one_sided.",
            autocompletion=one_of("two_sided", "one_sided"),
        ),
    ] = "two_sided",
    ranks: Annotated[
        bool,
        typer.Option(
            "--ranks", help="Diagnose the ranks within each metric, so that all samples have the same weight."
        ),
    ] = False,
    new: Annotated[
        list[str] | None,
        typer.Option(help="Classifier to leave out of the fit and place afterwards; may be repeated."),
    ] = None,
    among: Annotated[
        Path | None,
        typer.Option(
            help="Folder of an earlier run: place every classifier of SCORES among its classifiers."
        ),
    ] = None,
    data_set: Annotated[str | None, typer.Option(help="Column of the data set.")] = None,
    sample: options.SampleOption = None,
    truth: Annotated[str | None, typer.Option(help="Column of the truth, 0 or 1.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column that is not a classifier; may be repeated.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing score; may be repeated.")
    ] = None,
    learners: Annotated[int, typer.Option(min=0, help="How many classifiers to print.")] = 10,
    seed: options.SeedOption = 0,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write results to.")] = None,
    json: options.JsonOption = False,
) -> None:
    """Diagnose score-based classifiers by 22 metrics on each data set.

    Example: camilla classifiers scores.csv -o pool
    """
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
        print_json(found.document(), "classifiers")
        return
    say(found.text(learners=learners))
    if output is not None:
        say(
            f"Diagnosis written to {output}. Show one classifier with: "
            f"camilla show {output}/diagnosis --learner NAME"
        )


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
        aside(f"note: {shown(copy)!r} has the metrics of {shown(original)!r} and is left out.")
    if found.diagnosis.readout.explicit and found.table.skill_map is not None:
        warn_of_skills(found.table.skill_map)
    return found


def _place_among(folder: Path, read: "ClassifierScores", *, json: bool) -> None:
    from camilla.classifiers import load_classifiers

    saved = load_classifiers(folder)
    placed = saved.place(read)
    if json:
        print_json({"provenance": saved.diagnosis.provenance} | placed.document(), "classifiers-placed")
    else:
        say(placed.text())
