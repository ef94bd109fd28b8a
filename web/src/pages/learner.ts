import { forest } from "../charts/forest";
import { radar } from "../charts/radar";
import { h, link, name } from "../dom";
import { figure } from "../figure";
import type { Surprise } from "../model";
import { ranksText } from "../statement";
import { mean } from "../statistics";
import { type Column, WindowedTable } from "../table";
import { brief, interval, number, percent, shown } from "../text";
import { choice, facts, heading, mastery, nameOptions, type Page, placeOf, type View } from "../view";

const SPOKES = 16;
const ROWS = 30; // skills of the chart; the table has all

export const learner: Page = (view) => {
  const { learners } = view.of;
  const i = Math.max(0, placeOf(learners.name, view.query["name"]));
  const options = nameOptions(learners.name, (rank) => `${rank + 1}. `);
  const ranks = learners.rank_low ? ranksText(learners.rank_low[i], learners.rank_high![i]) : "";
  return [
    heading([name(learners.name[i])], "What this learner can do, skill by skill, and where it surprised.", "Learner"),
    h(
      "div",
      { class: "controls" },
      choice("Learner", options, learners.name[i], (value) => {
        location.hash = view.to("learner", { name: value });
      }),
      i > 0 ? link(view.learner(i - 1), "← rank before") : null,
      i + 1 < learners.name.length ? link(view.learner(i + 1), "next rank →") : null,
      learners.name.length > 1 ? link(view.to("compare", { learners: JSON.stringify([learners.name[i], learners.name[i ? 0 : 1]]) }), "compare") : null,
    ),
    facts([
      [`${learners.rank[i]}`, ranks ? `rank by ability; may be ${ranks}` : "rank by ability"],
      [number(learners.ability[i]), `ability, ${number(learners.low[i])} to ${number(learners.high[i])}`],
      [percent(learners.accuracy[i]), `${view.plain}, ${percent(learners.accuracy_low[i])} to ${percent(learners.accuracy_high[i])}`],
    ]),
    ...(view.hasSkills ? [strengths(view, i), h("div", { class: "columns even" }, shape(view, i), levels(view, i)), skillTable(view, i)] : []),
    h("div", { class: "columns even" }, surprises(view, i, "failed"), surprises(view, i, "solved")),
  ];
};

function strengths(view: View, i: number): HTMLElement {
  const { skills } = view.of;
  const found = skills.strength;
  if (!found) return h("section");
  const k = skills.name.length;
  const sure = skills.name.map((_, skill) => skill).filter((skill) => found.sure[i * k + skill]);
  const list = (which: number[], empty: string) =>
    which.length
      ? h(
          "ul",
          { class: "chips" },
          ...which.map((skill) => {
            const at = i * k + skill;
            const words = `${found.difference[at] > 0 ? "+" : ""}${number(found.difference[at])} ± ${number(view.of.critical * found.se[at])}`;
            return h("li", {}, view.skillLink(skill), h("span", { class: "quiet" }, ` ${words}`));
          }),
        )
      : h("p", { class: "quiet" }, empty);
  const by = (sign: number) => sure.filter((skill) => sign * found.difference[i * k + skill] > 0).sort((a, b) => sign * (found.difference[i * k + b] - found.difference[i * k + a]));
  return h(
    "section",
    { class: "card" },
    h("header", { class: "bar" }, h("h2", {}, "Strengths and weaknesses that are significant")),
    h("p", { class: "quiet note" }, `${found.kind[0].toUpperCase()}${found.kind.slice(1)}; 95\u00a0%, adjusted over its ${k} skills (Holm).`),
    h("div", { class: "columns even" }, h("div", {}, h("h3", {}, "Stronger than its level"), list(by(1), "None is sure.")), h("div", {}, h("h3", {}, "Weaker than its level"), list(by(-1), "None is sure."))),
  );
}

/** The skills of the radar: all, or those that differ most from the learner's own mean. */
function spokesOf(view: View, i: number): number[] {
  const { skills } = view.of;
  const k = skills.name.length;
  const all = skills.name.map((_, skill) => skill);
  if (k <= SPOKES) return all;
  const own = mean(all.map((skill) => skills.mastery[i * k + skill]));
  return all.sort((a, b) => Math.abs(skills.mastery[i * k + b] - own) - Math.abs(skills.mastery[i * k + a] - own)).slice(0, SPOKES).sort((a, b) => a - b);
}

function shape(view: View, i: number): HTMLElement {
  const { skills } = view.of;
  const k = skills.name.length;
  const chosen = spokesOf(view, i);
  if (chosen.length < 3) return h("section");
  return figure({
    title: `Shape of ${brief(view.of.learners.name[i], 40)}`,
    note: `Filled: ${mastery(view)}; dashed: plain ${view.plain}.${chosen.length < k ? ` The ${chosen.length} of ${k} skills farthest from its mean.` : ""}`,
    draw: (width) => ({
      svg: radar(
        chosen.map((skill) => ({
          name: skills.name[skill],
          values: [skills.mastery[i * k + skill], skills.accuracy[i * k + skill]],
          lines: [skills.name[skill], `ability ${view.skillAbility(i, skill)}`, `${mastery(view)} ${number(skills.mastery[i * k + skill], 3)}`, `${view.plain} ${view.skillAccuracy(i, skill)}`],
        })),
        [mastery(view), view.plain],
        width,
        `Mastery and ${view.plain} by skill`,
      ),
    }),
  });
}

function levels(view: View, i: number): HTMLElement {
  const { skills } = view.of;
  const k = skills.name.length;
  const order = skills.name.map((_, skill) => skill).sort((a, b) => skills.ability[i * k + b] - skills.ability[i * k + a]);
  const pool = poolMeans(view);
  const chosen = k <= ROWS ? order : [...order.slice(0, ROWS / 2), ...order.slice(-ROWS / 2)];
  return figure({
    title: chosen.length < k ? `Ability by skill: best and worst ${ROWS / 2}` : "Ability by skill",
    note: `Lines are 95 % intervals, the short bar is the pool's mean, the figure at the right plain ${view.plain}.`,
    draw: (width) => ({
      svg: forest(
        chosen.map((skill) => ({
          name: skills.name[skill],
          href: view.skill(skill),
          value: skills.ability[i * k + skill],
          low: skills.low[i * k + skill],
          high: skills.high[i * k + skill],
          reference: pool[skill],
          right: percent(skills.accuracy[i * k + skill]),
          lines: [skills.name[skill], `ability ${view.skillAbility(i, skill)}`, `pool's mean ${number(pool[skill])}`, `${view.plain} ${view.skillAccuracy(i, skill)}`],
        })),
        width,
        { label: "Ability by skill with 95 % intervals", axis: view.of.unit ? "ability" : "ability (sd)", rightLabel: view.plain, rowHeight: k > 20 ? 18 : 24 },
      ),
    }),
  });
}

function poolMeans(view: View): number[] {
  const { skills, learners } = view.of;
  const k = skills.name.length;
  return skills.name.map((_, skill) => mean(learners.name.map((_, who) => skills.ability[who * k + skill])));
}

function skillTable(view: View, i: number): HTMLElement {
  const { skills: s } = view.of;
  const k = s.name.length;
  const pool = poolMeans(view);
  const at = (skill: number) => i * k + skill;
  const columns: Column[] = [
    { key: "skill", label: "Skill", width: 150, value: (skill) => s.name[skill], show: (skill) => view.skillLink(skill) },
    { key: "ability", digits: 3, label: "Ability", width: 180, numeric: true, value: (skill) => s.ability[at(skill)], show: (skill) => view.skillAbility(i, skill), more: [["low", (skill) => s.low[at(skill)]], ["high", (skill) => s.high[at(skill)]]] },
    { key: "pool", digits: 3, minor: true, label: "Pool's mean", width: 110, numeric: true, value: (skill) => pool[skill], show: (skill) => number(pool[skill]) },
    { key: "mastery", digits: 3, minor: true, label: "Mastery", width: 90, numeric: true, value: (skill) => s.mastery[at(skill)], show: (skill) => number(s.mastery[at(skill)]) },
    { key: "accuracy", digits: 3, label: view.of.binary ? "Accuracy" : "Mean", width: 200, numeric: true, value: (skill) => s.accuracy[at(skill)], show: (skill) => `${percent(s.accuracy[at(skill)])} (${number(100 * s.accuracy_low[at(skill)], 1)} to ${number(100 * s.accuracy_high[at(skill)], 1)})`, more: [["accuracy_low", (skill) => s.accuracy_low[at(skill)]], ["accuracy_high", (skill) => s.accuracy_high[at(skill)]]] },
    { key: "responses", label: "Responses", width: 110, numeric: true, value: (skill) => Math.round(s.n[at(skill)]) },
  ];
  return new WindowedTable({ title: "Every skill", columns, rows: s.name.map((_, skill) => skill), sort: "-ability", height: 400 }).element;
}

function surprises(view: View, i: number, kind: "solved" | "failed"): HTMLElement {
  const { of } = view;
  const found: Surprise = of.surprises[kind];
  const each = found.sample.length / of.learners.name.length;
  const rows = Array.from({ length: each }, (_, rank) => i * each + rank).filter((at) => found.sample[at] >= 0);
  const sample = (at: number) => found.sample[at];
  const columns: Column[] = [
    { key: "sample", label: "Sample", width: 150, value: (at) => of.samples.name[sample(at)], show: (at) => view.sampleLink(sample(at)) },
    {
      key: "expected", label: "Expected", about: "The response the diagnoser expected, with the interval from the ability", width: 170, numeric: true,
      value: (at) => found.probability[at], show: (at) => interval(found.probability[at], found.low[at], found.high[at]),
      more: [["expected_low", (at) => found.low[at]], ["expected_high", (at) => found.high[at]]],
    },
    { key: "accuracy", label: "All learners", about: "Plain accuracy of all learners on the sample", width: 110, numeric: true, value: (at) => of.samples.accuracy[sample(at)], show: (at) => percent(of.samples.accuracy[sample(at)]) },
  ];
  const title = kind === "failed" ? "Surprisingly failed" : "Surprisingly solved";
  const whose = shown(of.learners.name[i]);
  return new WindowedTable({ title, columns, rows, height: 420, note: rows.length ? undefined : `${brief(whose, 40)} never ${kind} a sample against an expectation that differs by more than one half.` }).element;
}
