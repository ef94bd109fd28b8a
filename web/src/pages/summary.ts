import { forest } from "../charts/forest";
import { histogram } from "../charts/histogram";
import { h, link } from "../dom";
import { figure } from "../figure";
import { statement } from "../statement";
import { count, percent } from "../text";
import { facts, type Page, type View } from "../view";

const TOP = 12;

export const summary: Page = (view) => {
  const { of } = view;
  const made = of.provenance;
  const missing = Number(made["n_missing"]);
  const cells = Number(made["n_learners"]) * Number(made["n_samples"]);
  return [
    h("header", { class: "page hero" }, h("p", { class: "over" }, view.report.title), h("h1", { tabindex: -1 }, ...view.sentence(of.headline))),
    facts([
      [count(of.learners.name.length), "learners"],
      [count(of.samples.total), "samples"],
      ...(view.hasSkills ? ([[count(of.skills.name.length), of.latent ? "latent skills" : "skills"]] as [string, string][]) : []),
      [count(Number(made["n_responses"])), missing ? `responses, ${percent(missing / cells)} missing` : "responses, none missing"],
      [count(of.samples.suspects), of.samples.suspects === 1 ? "sample to look at" : "samples to look at"],
    ]),
    h("div", { class: "columns" }, words(view), h("div", { class: "stack" }, leaders(view), hardness(view))),
  ];
};

function words(view: View): HTMLElement {
  return h(
    "section",
    { class: "findings" },
    ...view.of.findings.map((one) =>
      h("article", {}, h("h2", {}, one.heading), ...one.statements.map((each) => statement(view, each)), link(view.to(one.page), `${LEADS[one.page] ?? "See the numbers"} →`)),
    ),
  );
}

const LEADS: Record<string, string> = {
  leaderboard: "Leaderboard",
  compare: "Compare learners",
  samples: "All samples",
  skills: "All skills",
  made: "How it was made",
};

function leaders(view: View): HTMLElement {
  const { of } = view;
  const shown = of.learners.name.slice(0, TOP);
  const ties = of.learners.ties.length > 0;
  return figure({
    title: shown.length < of.learners.name.length ? `The first ${shown.length} of ${count(of.learners.name.length)}` : "All learners",
    note: `Dots are ${of.score ? `expected scores on ${of.like_these ? "samples like these" : "these samples"}` : "abilities"}, lines 95 % intervals${ties ? "; a bar at the left joins learners that cannot be told apart" : ""}.`,
    draw: (width) => ({
      svg: forest(
        shown.map((who, i) => ({
          name: who,
          href: view.learner(i),
          value: of.learners.ability[i],
          low: of.learners.low[i],
          high: of.learners.high[i],
          right: percent(of.learners.accuracy[i]),
          lines: [who, `ability ${view.ability(i)}`, `${view.plain} ${view.accuracy(i)}`],
        })),
        width,
        { label: "Abilities of the first learners with intervals", axis: view.of.unit ? "ability" : "ability (sd)", ties: of.learners.ties, rightLabel: view.plain },
      ),
    }),
  });
}

function hardness(view: View): HTMLElement {
  const { samples } = view.of;
  const part = samples.name.length < samples.total ? ` The ${count(samples.name.length)} samples on this page.` : "";
  return figure({
    title: "How hard the samples are",
    note: `Samples that nearly all or nearly no learners solve distinguish few of them.${part}`,
    draw: (width) => ({ svg: histogram(samples.accuracy, width, 20, view.of.binary ? "share of learners that solved it" : "mean response", "samples") }),
  });
}
