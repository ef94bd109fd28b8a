import { whatIsHeld } from "../content";
import { h, name } from "../dom";
import { WindowedTable } from "../table";
import { shown } from "../text";
import { heading, type Page, type View } from "../view";

/** How each diagnoser makes its numbers, in a sentence. */
const MODELS: Record<string, string> = {
  vanilla: "A learner's ability is its mean response; nothing is modelled.",
  "skill-vanilla": "A learner's ability on a skill is its mean response on the samples that need it; nothing else is modelled.",
  irt: "Item response theory: the chance of a right response is σ(a·(θ − b)), with one ability θ per learner, and difficulty b and discrimination a for each sample. In the form 3pl each sample also has a guessing c, and the chance is c + (1 − c)·σ(a·(θ − b)).",
  bayes: "Item response theory with many dimensions, estimated by draws from the posterior: the expected score of a learner is its mean chance of a right response. Intervals come from the draws; ranks and ties come from paired tests where all learners answered the same samples, and from the draws where they did not.",
  gaussian: "Learners may correlate in any way: a learner's response is predicted from the responses of the others.",
  mirt: "Multidimensional item response theory: the logit of the chance is the sum of abilities times the sample's loadings, minus its difficulty.",
  mf: "Matrix factorisation: learners and samples are vectors whose product is the logit of the expected response.",
  dina: "DINA: a learner has or lacks each skill. Apart from slips and guesses, it is right when it has all skills that a sample needs.",
  "neural-cd": "NeuralCD: a monotone network turns mastery of each skill, difficulty and discrimination into the chance of a right response.",
  "camilla-base": "Camilla-Base: a learner has one ability on each skill; the chance of a right response is σ(b·(ability − difficulty)) on the skill that a sample needs (the sum, if it needs several). Overall ability is the mean over the skills of the samples.",
  camilla: "Camilla: abilities on latent skills. A network estimates them together with how much each sample needs of each skill.",
};

const MEANINGS: [string, string][] = [
  ["Ability", "A learner's level, estimated from its responses. For auto and bayes it is the expected score on samples like these, from 0 to 1; for vanilla diagnosers it is a mean response; for other diagnosers with a scale from 0 to 1 it is an expected response or a mastery; otherwise it is in standard deviations of the pool (0 is the mean learner)."],
  ["95 % interval", "A range that contains the true value in 95 of 100 such data sets, if the diagnoser's model is right. “interval” below names the method."],
  ["Accuracy", "The plain mean of a learner's responses, without a model. Its interval is Wilson's for right/wrong responses and uses Student's t for fractional scores. Missing responses are left out, never counted as 0."],
  ["Mastery", "Ability on a skill; if it is not on a scale from 0 to 1, it is transformed by σ(x) = 1/(1+e⁻ˣ), so that it can be drawn next to accuracy."],
  ["These samples, samples like these", "Who is better, first or tied, and the intervals beside it, refer to samples like these, as if another test drew new ones. What learners would score if they answered exactly these samples again is known better, with narrower intervals: the summary says it of the leader, and camilla show --these-samples of everyone."],
  ["Rank may be", "With posterior draws: the middle 95 % of a learner's ranks over the draws. Otherwise: the ranks that Wald tests of the learner against every other one leave open (Holm-adjusted, 95 %)."],
  ["Ties", "With posterior draws: the first learner of a run is better than each of the others with at most 95 % probability. Otherwise: runs of neighbouring ranks in which no Wald test, Holm-adjusted over all pairs, is significant; the errors of two learners are treated as independent, which is conservative if they answered the same samples."],
  ["One level for all skills", "What a learner of this mean would score on samples as hard as these: the Rasch model that reproduces the mean of every learner and of every sample. Responses on a skill are compared with it."],
  ["Exact p", "McNemar's test: of the samples that exactly one of two learners solved, how unusual is this split if both were equally good? It uses no model."],
  ["Difficulty", "The level at which a learner is right half the time; with guessing, the level at which its chance is half way between guessing and 1. For diagnosers without such a level it is a number from 0 to 1: the heading of the column says which. A level is on the scale of abilities where those are in standard deviations of the pool; if abilities are scores from 0 to 1, difficulties still have that other scale. It is empty if the discrimination's interval contains 0, because difficulty is then undetermined."],
  ["Discrimination", "How sharply a sample separates strong from weak learners. Negative: strong learners fail it more often than weak ones, a sign of a wrong label or a broken question."],
  ["Infit, outfit", "How erratic responses are, compared with the diagnoser's expectation; 1 is expected for right/wrong responses. Infit gives informative responses more weight; outfit weights all responses equally."],
  ["Expected", "The response that the diagnoser expects of a learner on a sample."],
  ["Surprising", "Responses farthest from the expectation, by more than one half."],
  ["Strengths", "How far a learner is from its overall level on a skill: its ability on the skill minus its overall ability, both relative to the pool's mean; without abilities by skill, its responses minus those expected from one level for all skills. Listed if significant at 95 %, Holm-adjusted over its skills."],
];

const LIMITS = [
  "The diagnosis describes these learners on these samples. Another pool or another choice of samples shifts the scale.",
  "Skills mean what the skill map says; the diagnosis cannot tell whether the map is right.",
  "A tie means that these data cannot tell two learners apart, not that they are equal.",
  "Intervals cover uncertainty from the responses. They do not cover contamination, changes of prompts or how the samples were chosen.",
  "A flag is a reason to look at a sample. Samples that are hard and right are flagged too.",
];

/** Percent signs stay with their number. */
const kept = (text: string) => text.replaceAll(" %", "\u00a0%");

export const made: Page = (view) => {
  const sections = view.report.diagnoses.length ? [model(view), provenance(view.of.provenance, `Diagnosis ${shown(view.of.name)}`)] : [];
  for (const board of view.report.boards) sections.push(provenance(board.provenance, `Leaderboard ${shown(board.name)}`));
  for (const one of [...view.report.comparisons, ...view.report.experiments]) sections.push(provenance(one.provenance, shown(one.title)));
  const flags = view.report.diagnoses.length ? Object.values(view.of.samples.flag_words) : [];
  const meanings: [string, string][] = flags.length ? [...MEANINGS, ["Flags", `${flags.map((one) => one[0].toUpperCase() + one.slice(1)).join(". ")}. They are those of camilla items, decided by a 2PL in which learners that answer alike count once. “Evidence” is that of responses and answers against the key, log₁₀ of a likelihood ratio, and no probability: learners share errors, and cannot tell a wrong key from an exception or an unclear text. A flag is a hint to look, not a verdict.`]] : MEANINGS;
  return [
    heading("How this was made", `By camilla ${view.report.version}. ${view.report.diagnoses.some((one) => one.content?.folder) ? "This page" : "This page is one file: it"} contains its data, loads nothing from a network and does not refit anything.`),
    ...sections,
    ...(view.report.tables ? [h("p", { class: "callout" }, "The full tables are next to this page in ", name(view.report.tables), ": learners, samples, skills and responses as Parquet.")] : []),
    ...(view.report.diagnoses.length && view.of.content ? [h("p", { class: "callout" }, whatIsHeld(view.of.content))] : []),
    h("section", { class: "card prose" }, h("h2", {}, "What each number means"), h("dl", { class: "meanings" }, ...meanings.flatMap(([word, text]) => [h("dt", {}, kept(word)), h("dd", {}, kept(text))]))),
    h("section", { class: "card prose" }, h("h2", {}, "What this report cannot show"), h("ul", {}, ...LIMITS.map((text) => h("li", {}, text)))),
    h(
      "section",
      { class: "card prose" },
      h("h2", {}, "Saving and sharing"),
      h("p", {}, "Charts save as SVG and PNG, tables as CSV. In CSV, text that a spreadsheet would read as a formula starts with an apostrophe. The address stores the view: copy it to send someone to the same place in the same file."),
    ),
  ];
};

function model(view: View): HTMLElement {
  const made = view.of.provenance;
  const words = MODELS[String(made["diagnoser"])] ?? "";
  const notes = Array.isArray(made["notes"]) ? made["notes"].map(String) : [];
  const state = made["converged"] === false ? "The fit stopped before it converged: treat its numbers as provisional." : "The fit converged.";
  return h("section", { class: "card prose" }, h("h2", {}, "In a sentence"), h("p", {}, `${words} ${state}`), h("p", { class: "mono quiet formula" }, view.of.model), ...notes.map((note) => h("p", { class: "callout" }, shown(note))));
}

const ABOUT: Record<string, string> = {
  diagnoser: "the model of responses",
  settings: "its settings",
  chosen_on_validation: "settings chosen on a tenth of the responses",
  as_published: "whether the paper's own training was followed",
  seed: "random seed",
  data_hash: "SHA-256 of names, responses and skill map, in any order of rows",
  n_responses: "rows with a response",
  n_missing: "learner–sample pairs without a response",
  fractional: "whether responses lie between right and wrong",
  skill_notes: "what was done to fit the skill map",
  skill_graph: "which skill builds on which",
  validation_loss: "mean log-loss on the held-out tenth of the responses",
  steps: "number of steps of the fit",
  gradient_norm: "at the end of the fit; near 0 after convergence",
  placed: "whether every learner has the ability that placing it again would give",
  converged: "whether the fit converged",
  interval: "how the intervals were made",
  estimand: "what an ability is",
  combined: "what predictions are made of, and with which weights",
  effective_draws: "how many independent draws the draws are worth",
  notes: "what to know before you read the numbers",
  scale: "what abilities are measured in",
  temperature: "what logits are divided by, fitted on held-out responses",
  loss: "mean over responses, priors included",
  versions: "of the software",
};

function provenance(document: Record<string, unknown>, title: string): HTMLElement {
  const keys = Object.keys(document);
  const columns = [
    { key: "what", label: "What", width: 180, value: (i: number) => keys[i] },
    { key: "value", label: "Value", width: 460, value: (i: number) => spelled(document[keys[i]]), show: (i: number) => h("span", { class: "mono" }, shown(spelled(document[keys[i]]))) },
    { key: "about", label: "Meaning", width: 330, value: (i: number) => ABOUT[keys[i]] ?? "" },
  ];
  return new WindowedTable({ title, columns, rows: keys.map((_, i) => i), whole: true }).element;
}

export function spelled(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  if (Array.isArray(value)) return value.length ? value.map(spelled).join("; ") : "none";
  if (typeof value === "object") {
    const parts = Object.entries(value).map(([key, one]) => `${key} ${spelled(one)}`);
    return parts.length ? parts.join(", ") : "none";
  }
  return String(value);
}
