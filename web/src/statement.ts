import { h } from "./dom";
import type { Part, Statement } from "./model";
import { pairedDifference, tested } from "./pair";
import { count, number, percent, pValue, shown } from "./text";
import type { Page, View } from "./view";

/** A sentence, and under it what it rests on: the counts, what it is about, how it was adjusted. */
export function statement(view: View, one: Statement, kind = "statement"): HTMLElement {
  return h("div", { class: kind }, h("p", {}, ...words(view, one)), evidence(view, one));
}

function words(view: View, one: Statement): (Node | string)[] {
  return view.report.diagnoses.length ? view.sentence(one.parts) : [one.text];
}

function evidence(view: View, one: Statement): HTMLElement | null {
  const facts: [string, string][] = [];
  if (one.estimand) facts.push(["What it is about", one.estimand]);
  if (one.correction) facts.push(["Adjustment", one.correction]);
  if (!one.evidence.length && !facts.length) return null;
  return h(
    "details",
    { class: "evidence" },
    h("summary", {}, "Evidence"),
    one.evidence.length ? h("ul", {}, ...one.evidence.map((each) => h("li", {}, ...words(view, each)))) : null,
    facts.length ? h("dl", {}, ...facts.flatMap(([what, text]) => [h("dt", {}, what), h("dd", {}, `${text}.`)])) : null,
  );
}

/** A page with its verdict under its name. */
export function withVerdict(key: string, page: Page): Page {
  return (view) => {
    const nodes = page(view);
    const verdict = verdictOf(key, view);
    const head = nodes.findIndex((one) => one instanceof HTMLElement && one.matches("header.page"));
    if (!verdict || head < 0) return nodes;
    return [...nodes.slice(0, head + 1), statement(view, verdict, "page-verdict"), ...nodes.slice(head + 1)];
  };
}

function verdictOf(key: string, view: View): Statement | null {
  const { query, report } = view;
  const chosen = <T>(all: T[], at: string): T => all[Math.max(0, Math.min(all.length - 1, Number(query[at] ?? 0) || 0))];
  if (key === "epp") return chosen(report.boards, "b").verdict;
  if (key === "comparisons" || key === "experiments") return chosen(report[key], "e").verdict;
  if (key === "learner") return ofLearner(view);
  if (key === "compare") return ofPair(view);
  if (query["sample"] || query["skill"]) return null; // of one sample or skill
  return key === "leaderboard" || key === "samples" || key === "skills" ? (view.of.verdicts[key] ?? null) : null;
}

function made(parts: Part[], estimand: string, correction: string, proof: Part[][] = []): Statement {
  return { kind: "", parts, text: "", numbers: {}, names: {}, estimand, correction, evidence: proof.map((one) => made(one, "", "")) };
}

/** Ranks are joined by a dash everywhere; ends of intervals by “to”. */
export function ranksText(low: number, high: number): string {
  return low === high ? `${low}` : `${low}–${high}`;
}

/** Rank, accuracy, and the skills that stand out. */
function ofLearner(view: View): Statement {
  const { learners, skills, binary } = view.of;
  const i = Math.max(0, learners.name.indexOf(view.query["name"] ?? ""));
  const may = learners.rank_low ? ` (may be ${ranksText(learners.rank_low[i], learners.rank_high![i])})` : "";
  const n = Math.round(learners.n[i]);
  const level = binary ? `right on ${percent(learners.accuracy[i])} of ${count(n)} responses` : `mean response ${number(learners.accuracy[i], 3)} on ${count(n)} samples`;
  const parts: Part[] = [`Rank ${i + 1} of ${count(learners.name.length)} by ability${may}: ${level}.`];
  const [k, found] = [skills.name.length, skills.strength];
  for (const [sign, word] of [[1, "better"], [-1, "worse"]] as const) {
    const sure = skills.name.map((_, skill) => skill).filter((skill) => found?.sure[i * k + skill] && sign * found.difference[i * k + skill] > 0);
    if (sure.length) parts.push(` Significantly ${word} than its level on `, ...sure.slice(0, 5).flatMap((skill, at): Part[] => [at ? ", " : "", { skill }]), sure.length > 5 ? ` and ${sure.length - 5} more.` : ".");
  }
  const adjusted = found ? `Holm over its ${k} skills for these skills; for ranks as on the leaderboard` : "as on the leaderboard";
  return made(parts, `${view.of.estimand}${found ? `; strengths are ${found.kind}` : ""}`, adjusted);
}

/** Whether the first two chosen learners differ. */
function ofPair(view: View): Statement | null {
  const { of } = view;
  let given: unknown = [];
  try {
    given = JSON.parse(view.query["learners"] ?? "[]");
  } catch {
    given = [];
  }
  const named = (Array.isArray(given) ? given : []).map((one) => of.learners.name.indexOf(String(one))).filter((i) => i >= 0);
  const chosen = [...new Set([...named, 0, 1])].slice(0, 2);
  const [a, b] = chosen[0] < chosen[1] ? chosen : [chosen[1], chosen[0]];
  const by = tested(of, a, b);
  const plain = pairedDifference(of, a, b);
  if (of.learners.name.length < 2 || !by) return null;
  const first: Part = { learner: a };
  const second: Part = { learner: b };
  const parts: Part[] =
    by.verdict === "cannot be told apart" ? [first, " and ", second, " cannot be told apart."]
    : by.verdict === "different" ? [first, " and ", second, " differ."]
    : [first, " and ", second, " differ as a pair alone, but not among all pairs of the leaderboard."];
  const proof: Part[][] = [];
  if (Number.isFinite(by.better)) proof.push([first, " is above ", second, ` with ${percent(by.better, 0)} probability, by ${of.pairs!.by_draws ? "draws of the posterior" : "a normal difference, the errors of two learners independent"}.`]);
  if (plain) {
    const counts = plain.onlyFirst === null ? "" : `${count(plain.onlyFirst)} : ${count(plain.onlySecond!)} on ${count(plain.shared)} shared samples: the numbers of samples that only one of the two solved; `;
    proof.push([`${counts}difference ${number(100 * plain.mean, 1)} (${number(100 * plain.low, 1)} to ${number(100 * plain.high, 1)}) points on samples like these, p = ${pValue(plain.p)} (${of.binary ? "exact McNemar" : "Student's t over samples"}).`]);
  }
  return made(parts, `by ability: ${shown(of.estimand)}; by counting: the difference on samples like these`, "all pairs of the leaderboard, at 95\u00a0%", proof);
}
