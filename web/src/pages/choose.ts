import { forest } from "../charts/forest";
import { pricedFrontier } from "../charts/frontier";
import { chanceBest, chanceBetter, frontier, type Mix, mixed, type Score, scoreOf, unpackedDraws } from "../choosing";
import { h, name } from "../dom";
import { figure } from "../figure";
import type { Draws } from "../model";
import { remember } from "../route";
import { samplesFor, samplesForMeans } from "../statistics";
import { type Column, WindowedTable } from "../table";
import { briefLabels, count, number, percent, pValue, shown } from "../text";
import { choice, heading, nameOptions, type Page, type View } from "../view";
import { pairedDifference } from "../pair";
import { skillDoubts } from "./skills";

const TOP = 15;
const MOST_WEIGHT = 10;
const POWER = 0.8;

/** What the reader weighs, and what follows from it. Learners are places in `draws.learners`. */
class Choosing {
  readonly draws: Draws;
  readonly values: Float32Array;
  readonly learners: number[];
  readonly weights: number[];
  cost: number; // a place in the attributes, −1 for none
  budget: number | null;
  mix!: Mix;
  best!: number[];
  scores!: Score[];
  order!: number[];

  constructor(readonly view: View) {
    const { choosing, attributes } = view.of;
    const q = view.query;
    this.draws = choosing.draws;
    this.values = unpackedDraws(this.draws);
    this.learners = Array.from(this.draws.learners);
    const given = (q["w"] ?? "").split(",").map(Number);
    const k = this.draws.skills?.length ?? 1;
    this.weights = given.length === k && given.every((one) => one >= 0 && one <= MOST_WEIGHT) ? given : Array.from({ length: k }, () => 1);
    this.cost = q["cost"] === undefined ? (attributes.numbers.length ? 0 : -1) : attributes.numbers.findIndex((one) => one.name === q["cost"]);
    this.budget = q["most"] !== undefined && Number.isFinite(Number(q["most"])) ? Number(q["most"]) : null;
    this.follow();
  }

  name(i: number): string {
    return this.view.of.learners.name[this.learners[i]];
  }

  price(i: number): number {
    return this.cost < 0 ? NaN : this.view.of.attributes.numbers[this.cost].value[this.learners[i]];
  }

  allowed(i: number): boolean {
    return this.cost < 0 || this.budget === null || this.price(i) <= this.budget;
  }

  /** Everything that depends on weights and budget. */
  follow(): void {
    this.mix = mixed(this.values, this.learners.length, this.weights);
    this.best = chanceBest(this.mix, (i) => this.allowed(i));
    this.scores = this.learners.map((_, i) => scoreOf(this.mix, i));
    const places = this.learners.map((_, i) => i).filter((i) => this.allowed(i));
    this.order = places.sort((a, b) => this.scores[b].value - this.scores[a].value || a - b);
  }
}

export const choose: Page = (view) => {
  const state = new Choosing(view);
  const verdict = h("p", { class: "verdict", role: "status" });
  const chart = ranking(state);
  const table = rankingTable(state);
  const priced = state.view.of.attributes.numbers.length ? costChart(state) : null;
  const separation = separate(state);
  const update = () => {
    state.follow();
    verdict.replaceChildren(...words(state));
    table.show(state.order);
    chart.redraw();
    priced?.redraw();
    separation.update();
  };
  verdict.replaceChildren(...words(state));
  return [
    heading("Choose for me", "Choose what matters to you. The ranking, the chance of each learner to be the best and the cost of quality are updated at once."),
    verdict,
    ...skillDoubts(state.view),
    h("div", { class: state.draws.skills ? "columns choose" : "stack" }, state.draws.skills ? weightsCard(state, update) : null, h("div", { class: "stack" }, costControls(state, update), chart)),
    ...(priced ? [priced] : []),
    table.element,
    separation.element,
    h("p", { class: "quiet note" }, `Where the chances come from: ${state.draws.source} ${count(state.draws.n)} draws.${state.learners.length < view.of.learners.name.length ? ` The ${count(state.learners.length)} of ${count(view.of.learners.name.length)} learners that come first overall or on some skill.` : ""}`),
  ];
};

function words(state: Choosing): (Node | string)[] {
  if (!state.order.length) return ["No learner has a known ", state.view.of.attributes.numbers[state.cost].name, " within the budget."];
  const likely = [...state.order].sort((a, b) => state.best[b] - state.best[a]);
  const [first, second] = likely;
  const score = state.scores[first];
  const [plain, within] = [state.view.plain, state.budget !== null && state.cost >= 0 ? ` within the budget` : ""];
  const tail = second === undefined ? "." : [`. Next is `, name(state.name(second), 60), ` with P ${stated(state.best[second])}.`];
  return [name(state.name(first), 60), ` is the most probable best${within}: P ${stated(state.best[first])}, ${plain} on this mix ${percent(score.value)} (${percent(score.low)} to ${percent(score.high)})`, ...tail];
}

function chance(share: number): string {
  return share < 0.005 ? "<\u00a01\u00a0%" : share > 0.995 ? ">\u00a099\u00a0%" : percent(share, 0);
}

/** "= 35 %", "< 1 %". */
function stated(share: number): string {
  const text = chance(share);
  return /^[<>]/.test(text) ? text : `= ${text}`;
}

/** A slider and a number for each skill. */
function weightsCard(state: Choosing, update: () => void): HTMLElement {
  const skills = state.draws.skills!;
  const inputs: [HTMLInputElement, HTMLInputElement][] = [];
  const keep = () => {
    const plain = state.weights.every((one) => one === 1);
    remember({ w: plain ? null : state.weights.map((one) => Number(one.toFixed(2))).join(",") });
    update();
  };
  const set = (k: number, text: string) => {
    const wanted = Number(text);
    if (text === "" || !Number.isFinite(wanted)) return;
    state.weights[k] = Math.max(0, Math.min(MOST_WEIGHT, wanted));
    for (const one of inputs[k]) if (one.value !== text) one.value = String(state.weights[k]);
    keep();
  };
  const all = (weights: number[]) => {
    weights.forEach((one, k) => {
      state.weights[k] = one;
      for (const input of inputs[k]) input.value = String(one);
    });
    keep();
  };
  const label = briefLabels(skills, 34);
  const rows = skills.map((skill, k) => {
    const given = { min: 0, max: MOST_WEIGHT, step: 0.1, value: Number(state.weights[k].toFixed(2)), oninput: (event: Event) => set(k, (event.target as HTMLInputElement).value) };
    inputs[k] = [h("input", { type: "range", "aria-label": `Weight of ${skill}`, ...given }), h("input", { type: "number", "aria-label": `Weight of ${skill}, as a number`, ...given })];
    return h("div", { class: "weight" }, h("bdi", { class: "name", title: shown(skill) }, label[k]), ...inputs[k]);
  });
  // a skill that only the skill graph names has no samples and is not among the draws
  const { name, count } = state.view.of.skills;
  const counts = count && skills.map((skill) => count[name.indexOf(skill)]);
  const most = counts ? Math.max(...counts) : 1;
  const button = (label: string, act: () => void) => h("button", { class: "small", type: "button", onclick: act }, label);
  return h(
    "section",
    { class: "card" },
    h(
      "header",
      { class: "bar" },
      h("h2", {}, "What matters"),
      h(
        "span",
        { class: "tools" },
        button("All equal", () => all(skills.map(() => 1))),
        counts ? button("As in the samples", () => all(skills.map((_, k) => Number(((MOST_WEIGHT * counts[k]) / most).toFixed(1))))) : null,
        button("None", () => all(skills.map(() => 0))),
      ),
    ),
    h("p", { class: "quiet note" }, `Weights from 0 to ${MOST_WEIGHT}; a learner's score is its accuracy on each skill's samples, averaged by these weights.`),
    h("div", { class: "weights", tabindex: 0, role: "group", "aria-label": "Weights of skills" }, ...rows),
  );
}

function costControls(state: Choosing, update: () => void): HTMLElement | null {
  const { numbers } = state.view.of.attributes;
  if (!numbers.length) return h("p", { class: "quiet" }, "With cost, latency or size per learner (camilla report --learners FILE) this page also draws what quality costs.");
  const budget = h("input", {
    type: "number", min: 0, step: "any", value: state.budget ?? "", placeholder: "no limit",
    oninput: (event: Event) => {
      const text = (event.target as HTMLInputElement).value;
      state.budget = text === "" ? null : Number(text);
      remember({ most: text });
      update();
    },
  });
  const options = numbers.map((one): [string, string] => [one.name, one.name]);
  return h(
    "div",
    { class: "controls" },
    choice("Cost (lower is better)", options, numbers[Math.max(0, state.cost)].name, (value) => {
      state.cost = numbers.findIndex((one) => one.name === value);
      remember({ cost: value });
      update();
    }),
    h("label", { class: "choice" }, h("span", {}, "At most"), budget),
  );
}

function lines(state: Choosing, i: number): string[] {
  const score = state.scores[i];
  const cost = state.cost < 0 ? [] : [`${state.view.of.attributes.numbers[state.cost].name} ${plainNumber(state.price(i))}`];
  return [state.name(i), `${state.view.plain} on this mix ${percent(score.value)} (${percent(score.low)} to ${percent(score.high)})`, `best with ${chance(state.best[i])}`, ...cost];
}

function plainNumber(value: number): string {
  return number(value, 4).replace(/\.?0+$/, "") || "not known";
}

function ranking(state: Choosing): HTMLElement & { redraw: () => void } {
  return figure({
    title: "Ranking for this mix",
    note: "Dots are expected scores, lines 95 % intervals; at the right, the chance to be the best of all.",
    draw: (width) => ({
      svg: forest(
        state.order.slice(0, TOP).map((i) => ({
          name: state.name(i),
          href: state.view.learner(state.learners[i]),
          value: 100 * state.scores[i].value,
          low: 100 * state.scores[i].low,
          high: 100 * state.scores[i].high,
          right: chance(state.best[i]),
          lines: lines(state, i),
        })),
        width,
        { label: "Scores on the chosen mix of skills with 95 % intervals", axis: `${state.view.plain} on this mix, %`, rightLabel: "P(best)" },
      ),
    }),
  });
}

function costChart(state: Choosing): HTMLElement & { redraw: () => void } {
  return figure({
    title: "What quality costs",
    wide: true,
    note: "On the line: learners that no other learner beats at the same cost or less. Dashed: the budget.",
    draw: (width) => {
      const places = state.learners.map((_, i) => i).filter((i) => Number.isFinite(state.price(i)));
      const line = new Set(frontier(places.map((i) => state.price(i)), places.map((i) => state.scores[i].value)).map((at) => places[at]));
      const points = places.map((i) => ({
        name: state.name(i),
        href: state.view.learner(state.learners[i]),
        cost: state.price(i),
        value: 100 * state.scores[i].value,
        low: 100 * state.scores[i].low,
        high: 100 * state.scores[i].high,
        best: line.has(i),
        faded: !state.allowed(i),
        lines: lines(state, i),
      }));
      return { svg: pricedFrontier(points, width, state.view.of.attributes.numbers[Math.max(0, state.cost)].name, `${state.view.plain} on this mix, %`, state.budget) };
    },
  });
}

function rankingTable(state: Choosing): WindowedTable {
  const columns: Column[] = [
    { key: "learner", label: "Learner", width: 150, value: (i) => state.name(i), show: (i) => state.view.learnerLink(state.learners[i]) },
    { key: "p_best", label: "P(best)", about: "The share of draws in which it comes first", width: 80, numeric: true, digits: 4, value: (i) => state.best[i], show: (i) => chance(state.best[i]) },
    {
      key: "score", label: "Score on this mix", width: 170, numeric: true, digits: 4, value: (i) => state.scores[i].value,
      show: (i) => `${percent(state.scores[i].value)} (${number(100 * state.scores[i].low, 1)} to ${number(100 * state.scores[i].high, 1)})`,
      more: [["low", (i) => state.scores[i].low], ["high", (i) => state.scores[i].high]],
    },
    ...state.view.of.attributes.numbers.map((one): Column => ({ key: one.name, label: one.name, width: 80, numeric: true, value: (i) => one.value[state.learners[i]], show: (i) => plainNumber(one.value[state.learners[i]]) })),
  ];
  return new WindowedTable({ title: "All learners on this mix", columns, rows: state.order, sort: state.view.query["sort"] ?? "-score", onSort: (sort) => remember({ sort }), height: 420 });
}

/** How many more samples would tell two learners apart. */
function separate(state: Choosing): { element: HTMLElement; update: () => void } {
  const { view } = state;
  const place = (text: string | undefined) => (text === undefined ? -1 : state.learners.findIndex((_, i) => state.name(i) === text));
  const pair = { a: place(view.query["a"]), b: place(view.query["b"]) };
  const said = h("p", { class: "verdict", role: "status" });
  const names = state.learners.map((_, i) => state.name(i));
  const update = () => {
    const [a, b] = [pair.a < 0 ? (state.order[0] ?? 0) : pair.a, pair.b < 0 ? (state.order[1] ?? 1) : pair.b];
    const select = (which: "a" | "b", current: number) =>
      choice(which === "a" ? "First" : "Second", nameOptions(names), state.name(current), (value) => {
        pair[which] = names.indexOf(value);
        remember({ [which]: value });
        update();
      });
    choices.replaceChildren(select("a", a), select("b", b));
    said.replaceChildren(...separation(state, a, b));
  };
  const choices = h("div", { class: "controls" });
  if (state.learners.length > 1) update();
  const element = h("section", { class: "card" }, h("header", { class: "bar" }, h("h2", {}, "How many more samples would separate two learners?")), choices, said);
  return { element: state.learners.length > 1 ? element : h("span"), update: () => state.learners.length > 1 && update() };
}

function separation(state: Choosing, a: number, b: number): (Node | string)[] {
  if (a === b) return ["Choose two different learners."];
  const { of } = state.view;
  const better = chanceBetter(state.mix, a, b);
  const onMix = `On this mix the first is better with P ${stated(better)}. `;
  const found = pairedDifference(of, state.learners[a], state.learners[b]);
  if (!found) return [onMix];
  const points = (share: number) => number(100 * share, 1);
  const observed = `Over all ${count(found.shared)} shared samples the first is ${found.mean >= 0 ? "ahead" : "behind"} by ${points(Math.abs(found.mean))} points (95\u00a0% CI of the difference ${points(found.low)} to ${points(found.high)}, p ${pValue(found.p).startsWith("<") ? pValue(found.p) : `= ${pValue(found.p)}`})`;
  const needed = samplesNeeded(found, of.critical);
  if (found.p < 0.05) return [onMix, `${observed}: these samples tell them apart already.`];
  if (needed === null) return [onMix, `${observed}. With no difference at all, no number of samples can show one.`];
  const more = Math.max(0, needed - found.shared);
  return [
    onMix,
    `${observed}. If that is the true difference, `,
    h("strong", {}, `about ${count(needed)} samples, ${count(more)} more than there are,`),
    ` show it with a power of ${percent(POWER, 0)} at α = .05 (${of.binary ? "exact McNemar test" : "paired t-test"}). The true difference is not known: a smaller one needs more.`,
  ];
}

function samplesNeeded(found: { shared: number; mean: number; low: number; high: number; onlyFirst: number | null; onlySecond: number | null }, critical: number): number | null {
  if (found.onlyFirst !== null && found.onlySecond !== null) return samplesFor((found.onlyFirst + found.onlySecond) / found.shared, found.mean, POWER);
  const se = (found.high - found.low) / (2 * critical);
  return samplesForMeans(se * Math.sqrt(found.shared), found.mean, POWER);
}
