import { forest } from "../charts/forest";
import { cloud } from "../charts/cloud";
import { extent } from "../charts/axes";
import { h } from "../dom";
import { figure } from "../figure";
import { remember } from "../route";
import { type Column, WindowedTable } from "../table";
import { brief, count, interval, number, percent, shown } from "../text";
import { choice, heading, type Page, type View } from "../view";

const MOST = 26;

/** Ability and accuracy of every learner on the whole or on one skill. */
interface Level {
  ability: ArrayLike<number>;
  low: ArrayLike<number>;
  high: ArrayLike<number>;
  accuracy: ArrayLike<number>;
  accuracyLow: ArrayLike<number>;
  accuracyHigh: ArrayLike<number>;
}

export function levelOn(view: View, skill: number): Level {
  const { learners: l, skills: s } = view.of;
  if (skill < 0) return { ability: l.ability, low: l.low, high: l.high, accuracy: l.accuracy, accuracyLow: l.accuracy_low, accuracyHigh: l.accuracy_high };
  const k = s.name.length;
  const take = (matrix: Float32Array) => l.name.map((_, i) => matrix[i * k + skill]);
  return { ability: take(s.ability), low: take(s.low), high: take(s.high), accuracy: take(s.accuracy), accuracyLow: take(s.accuracy_low), accuracyHigh: take(s.accuracy_high) };
}

export const leaderboard: Page = (view) => {
  const { of } = view;
  const skill = view.hasSkills ? of.skills.name.indexOf(view.query["skill"] ?? "") : -1;
  const level = levelOn(view, skill);
  const order = of.learners.name.map((_, i) => i).sort((a, b) => (skill < 0 ? a - b : level.ability[b] - level.ability[a]));
  const ties = skill < 0 ? of.learners.ties : [];
  const what = skill < 0 ? "overall" : `on ${shown(of.skills.name[skill])}`;
  return [
    heading("Leaderboard", leadOf(view, skill)),
    view.hasSkills
      ? h(
          "div",
          { class: "controls" },
          choice("Rank by", [["", "all skills"], ...of.skills.name.map((name): [string, string] => [name, brief(name, 60)])], view.query["skill"] ?? "", (value) => {
            location.hash = view.to("leaderboard", { skill: value });
          }),
        )
      : "",
    board(view, order, level, skill, what),
    h("div", { class: "columns even" }, intervals(view, order.slice(0, MOST), level, ties, what), against(view, level, what)),
  ].filter((one): one is HTMLElement => one !== "");
};

function leadOf(view: View, skill: number): string {
  const ties = view.of.learners.ties;
  if (skill >= 0) return "Ability on one skill, plain accuracy on its samples beside it. Overlapping intervals mean that the order is not sure.";
  if (!view.of.learners.rank_low) return "Ability with its 95 % interval; plain accuracy beside it.";
  const runs = ties.slice(0, 3).map(([first, last]) => `${first + 1}–${last + 1}`);
  const tail = ties.length > 3 ? ` and ${ties.length - 3} more runs` : "";
  return ties.length
    ? `Ranks ${runs.join(", ")}${tail} are ties: within such a run no test, adjusted for all pairs, tells two learners apart. “Rank may be” is each learner's own 95 % range.`
    : "Every learner differs from every other, also when adjusted for all pairs.";
}

function board(view: View, order: number[], level: Level, skill: number, what: string): HTMLElement {
  const { learners } = view.of;
  const rank = new Map(order.map((i, place) => [i, place + 1]));
  const span = extent(level.low, level.high, level.ability);
  const ties = skill < 0 && learners.rank_low !== null;
  const columns: Column[] = [
    { key: "learner", label: "Learner", width: 180, value: (i) => learners.name[i], show: (i) => view.learnerLink(i) },
    { key: "rank", label: "Rank", width: 70, numeric: true, value: (i) => rank.get(i)!, show: (i) => String(rank.get(i)!) },
    ...(ties
      ? [{
          key: "rank_low", label: "Rank may be", about: "Ranks that tests against each other learner leave open, at 95 %", width: 110, numeric: true,
          value: (i: number) => learners.rank_low![i],
          show: (i: number) => (learners.rank_low![i] === learners.rank_high![i] ? String(learners.rank_low![i]) : `${learners.rank_low![i]}–${learners.rank_high![i]}`),
          more: [["rank_high", (i: number) => learners.rank_high![i]] as [string, (i: number) => number]],
        }]
      : []),
    {
      key: "ability", label: "Ability", width: 90, numeric: true, value: (i) => level.ability[i], show: (i) => number(level.ability[i]),
      more: [["low", (i) => level.low[i]], ["high", (i) => level.high[i]]],
    },
    { key: "interval", label: "95 % interval", width: 230, value: (i) => level.low[i], show: (i) => bar(level, i, span) },
    {
      key: "accuracy", label: view.of.binary ? "Accuracy" : "Mean", about: "Plain share of right responses, without any model", width: 100, numeric: true,
      value: (i) => level.accuracy[i], show: (i) => percent(level.accuracy[i]),
      more: [["accuracy_low", (i) => level.accuracyLow[i]], ["accuracy_high", (i) => level.accuracyHigh[i]]],
    },
    { key: "responses", label: "Responses", width: 110, numeric: true, value: (i) => Math.round(learners.n[i]), show: (i) => count(Math.round(learners.n[i])) },
  ];
  return new WindowedTable({
    title: `Learners ${what}`,
    columns,
    rows: order,
    sort: view.query["sort"] ?? "rank",
    height: 500,
    onSort: (sort) => remember({ sort }),
  }).element;
}

/** The interval as a line inside the cell; its title has the numbers. */
function bar(level: Level, i: number, [low, high]: [number, number]): Node {
  const at = (value: number) => `${(100 * (value - low)) / (high - low || 1)}%`;
  const text = interval(level.ability[i], level.low[i], level.high[i]);
  const known = Number.isFinite(level.low[i]);
  return h(
    "span",
    { class: "inline", title: text, role: "img", "aria-label": text },
    known ? h("span", { class: "inline-span", style: { left: at(level.low[i]), right: `calc(100% - ${at(level.high[i])})` } }) : null,
    h("span", { class: "inline-dot", style: { left: at(level.ability[i]) } }),
  );
}

function intervals(view: View, order: number[], level: Level, ties: [number, number][], what: string): HTMLElement {
  const n = view.of.learners.name.length;
  return figure({
    title: `Abilities ${what}${order.length < n ? `, first ${order.length}` : ""}`,
    note: ties.length ? "Bars at the left join learners that cannot be told apart." : undefined,
    draw: (width) => ({
      svg: forest(
        order.map((i) => ({
          name: view.of.learners.name[i],
          href: view.learner(i),
          value: level.ability[i],
          low: level.low[i],
          high: level.high[i],
          lines: [view.of.learners.name[i], `ability ${interval(level.ability[i], level.low[i], level.high[i])}`, `${view.plain} ${percent(level.accuracy[i])}`],
        })),
        width,
        { label: `Abilities ${what} with 95 % intervals`, axis: view.of.unit ? "ability" : "ability (sd)", ties, rowHeight: 20 },
      ),
    }),
  });
}

function against(view: View, level: Level, what: string): HTMLElement {
  return figure({
    title: `Ability against plain ${view.plain}, ${what}`,
    note: "Where counting and the diagnosis disagree, points leave the common line.",
    draw: (width) =>
      cloud(width, {
        label: `Ability against ${view.plain} of every learner`,
        xLabel: view.plain,
        yLabel: "ability",
        x: Array.from(level.accuracy),
        y: Array.from(level.ability),
        domain: [extent(level.accuracy), extent(level.ability)],
        height: Math.min(520, Math.max(320, width * 0.9)),
        lines: (i) => [
          shown(view.of.learners.name[i]),
          `ability ${interval(level.ability[i], level.low[i], level.high[i])}`,
          `${view.plain} ${percent(level.accuracy[i])} (${percent(level.accuracyLow[i])} to ${percent(level.accuracyHigh[i])})`,
        ],
        open: (i) => {
          location.hash = view.learner(i);
        },
      }),
  });
}
