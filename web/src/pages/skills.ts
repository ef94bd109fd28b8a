import { forest } from "../charts/forest";
import { spread } from "../charts/spread";
import { h, link, name } from "../dom";
import { figure } from "../figure";
import { mean, quantile } from "../statistics";
import { type Column, WindowedTable } from "../table";
import { count, number, percent, shown } from "../text";
import { choice, facts, heading, type Page, placeOf, type View } from "../view";
import { levelOn } from "./leaderboard";
import { strengthsMap } from "./strengths";

const SHOWN = 40;

export const skills: Page = (view) => {
  const k = placeOf(view.of.skills.name, view.query["skill"]);
  return k >= 0 ? oneSkill(view, k) : allSkills(view);
};

/** What learners are compared by on a skill: its ability, or accuracy where one ability serves for all skills. */
interface Measure {
  label: string;
  axis: string;
  value: Float32Array;
  low: Float32Array;
  high: Float32Array;
  text: (learner: number, skill: number) => string;
}

function measure(view: View): Measure {
  const { skills: s } = view.of;
  if (s.one_for_all) return { label: view.plain, axis: view.plain, value: s.accuracy, low: s.accuracy_low, high: s.accuracy_high, text: (i, skill) => view.skillAccuracy(i, skill) };
  return { label: "ability", axis: view.of.unit ? "ability" : "ability (sd)", value: s.ability, low: s.low, high: s.high, text: (i, skill) => view.skillAbility(i, skill) };
}

const ONE = " This diagnosis has one ability for all skills, so accuracies are shown.";

function best(view: View, k: number): number {
  const { value } = measure(view);
  const n = view.of.skills.name.length;
  return view.of.learners.name.reduce((top, _, i) => (value[i * n + k] > value[top * n + k] ? i : top), 0);
}

function allSkills(view: View): Node[] {
  const about = view.of.latent ? "The diagnoser found these skills itself; each is named after the samples that need it most." : "What each skill contains, and how learners differ on it.";
  return [heading("Skills", about), ...skillDoubts(view), overview(view), spreads(view), ...strengthsMap(view)];
}

/** What to know before abilities on skills are believed. */
export function skillDoubts(view: View): Node[] {
  return view.of.skills.doubts.map((doubt) => h("p", { class: "callout" }, shown(doubt)));
}

function overview(view: View): HTMLElement {
  const { skills: s, samples, learners } = view.of;
  const k = s.name.length;
  const by = measure(view);
  const top = s.name.map((_, skill) => best(view, skill));
  const level = s.name.map((_, skill) => mean(learners.name.map((_, i) => s.accuracy[i * k + skill])));
  const named = (skill: number) => {
    if (!s.top) return [];
    const each = s.top.sample.length / k;
    return Array.from(s.top.sample.slice(skill * each, skill * each + 5), (j) => samples.name[j]);
  };
  const columns: Column[] = [
    { key: "skill", label: "Skill", width: 160, value: (skill) => s.name[skill], show: (skill) => view.skillLink(skill) },
    ...(s.count ? [{ key: "samples", label: "Samples", width: 90, numeric: true, value: (skill: number) => s.count![skill], show: (skill: number) => count(s.count![skill]) }] : []),
    { key: "accuracy", label: view.of.binary ? "Mean accuracy" : "Mean response", width: 130, numeric: true, value: (skill) => level[skill], show: (skill) => percent(level[skill]) },
    { key: "best", label: "Best learner", width: 180, value: (skill) => learners.name[top[skill]], show: (skill) => view.learnerLink(top[skill]) },
    {
      key: `best_${by.label.replace(" ", "_")}`, label: `Its ${by.label}`, width: 180, numeric: true, value: (skill) => by.value[top[skill] * k + skill],
      show: (skill) => by.text(top[skill], skill),
    },
    ...(s.top ? [{ key: "named_by", label: "Named by", width: 320, value: (skill: number) => named(skill).join(" | "), show: (skill: number) => h("span", {}, ...named(skill).flatMap((one, i) => [i ? ", " : "", name(one)])) }] : []),
  ];
  return new WindowedTable({ title: "Skills", columns, rows: s.name.map((_, skill) => skill), height: 420 }).element;
}

function spreads(view: View): HTMLElement {
  const { skills: s, learners } = view.of;
  const k = s.name.length;
  const by = measure(view);
  const on = (skill: number) => learners.name.map((_, i) => by.value[i * k + skill]);
  const wide = (skill: number) => quantile(on(skill), 0.9) - quantile(on(skill), 0.1);
  const order = s.name.map((_, skill) => skill);
  const chosen = k <= SHOWN ? order : order.sort((a, b) => wide(b) - wide(a)).slice(0, SHOWN);
  return figure({
    title: "How learners spread",
    wide: true,
    note: `Thick: the middle half of the learners; thin: the middle 80 %; dot: the median; ticks: each learner.${s.one_for_all ? ONE : ""}${chosen.length < k ? ` The ${SHOWN} of ${k} skills with the widest spread.` : ""}`,
    draw: (width) => ({
      svg: spread(
        chosen.map((skill) => {
          const values = on(skill);
          const top = best(view, skill);
          return {
            name: s.name[skill],
            href: view.skill(skill),
            values,
            best: learners.name[top],
            lines: [s.name[skill], `median ${number(quantile(values, 0.5))}, middle half ${number(quantile(values, 0.25))} to ${number(quantile(values, 0.75))}`, `best ${learners.name[top]}: ${by.text(top, skill)}`],
          };
        }),
        width,
        by.axis,
        "Spread of learners by skill",
      ),
    }),
  });
}

function oneSkill(view: View, k: number): Node[] {
  const { skills: s, samples, learners } = view.of;
  const level = levelOn(view, k);
  const by = measure(view);
  const at = (i: number) => i * s.name.length + k;
  const order = learners.name.map((_, i) => i).sort((a, b) => by.value[at(b)] - by.value[at(a)]);
  const rows = samples.name.map((_, j) => j).filter((j) => samples.needs?.[j * s.name.length + k]);
  const top = best(view, k);
  return [
    h("p", { class: "back" }, link(view.to("skills"), "← all skills")),
    heading([name(s.name[k])], ["Highest: ", view.learnerLink(top), `, ${by.label} ${by.text(top, k)}.`], view.of.latent ? "Latent skill" : "Skill"),
    ...skillDoubts(view),
    h(
      "div",
      { class: "controls" },
      choice("Skill", s.name.map((one): [string, string] => [one, one]), s.name[k], (value) => {
        location.hash = view.to("skills", { skill: value });
      }),
      link(view.to("leaderboard", { skill: s.name[k] }), "leaderboard on this skill"),
      samples.needs ? link(view.to("samples", { skill: s.name[k] }), "its samples in the scatter") : null,
    ),
    facts([
      ...(s.count ? ([[count(s.count[k]), "samples"]] as [string, string][]) : []),
      [percent(mean(Array.from(level.accuracy))), `mean ${view.plain} of all learners`],
      ...(s.one_for_all ? [] : ([[number(quantile(level.ability, 0.5)), "median ability"]] as [string, string][])),
    ]),
    h(
      "div",
      { class: "columns even" },
      figure({
        title: `Learners on this skill${order.length > SHOWN ? `, first ${SHOWN}` : ""}`,
        note: `Lines are single 95 % intervals, not adjusted for the number of learners.${s.one_for_all ? ONE : ""}`,
        draw: (width) => ({
          svg: forest(
            order.slice(0, SHOWN).map((i) => ({
              name: learners.name[i],
              href: view.learner(i),
              value: by.value[at(i)],
              low: by.low[at(i)],
              high: by.high[at(i)],
              right: percent(level.accuracy[i]),
              lines: [learners.name[i], ...(s.one_for_all ? [] : [`ability ${view.skillAbility(i, k)}`]), `${view.plain} ${view.skillAccuracy(i, k)}`, ...strength(view, i, k)],
            })),
            width,
            { label: `Learners on this skill by ${by.label}`, axis: by.axis, rightLabel: view.plain, rowHeight: 20 },
          ),
        }),
      }),
      rows.length ? contents(view, rows) : asking(view, k),
    ),
  ];
}

/** Responses on a skill less what one level for all skills makes of them. */
function strength(view: View, i: number, k: number): string[] {
  const found = view.of.skills.profile;
  const at = i * view.of.skills.name.length + k;
  if (!found || !Number.isFinite(found.expected[at])) return [];
  return [`expected from one level for all skills ${percent(found.expected[at])}: ${number(100 * (found.observed[at] - found.expected[at]), 1)} ± ${number(100 * view.of.critical * found.se[at], 1)} points`];
}

function contents(view: View, rows: number[]): HTMLElement {
  const { samples: t } = view.of;
  const columns: Column[] = [
    { key: "sample", label: "Sample", width: 150, value: (j) => t.name[j], show: (j) => view.sampleLink(j) },
    { key: "accuracy", label: view.of.binary ? "Accuracy" : "Mean", width: 100, numeric: true, value: (j) => t.accuracy[j], show: (j) => percent(t.accuracy[j]) },
    { key: "discrimination", label: "Discrimination", width: 130, numeric: true, value: (j) => t.discrimination[j], show: (j) => number(t.discrimination[j]) },
  ];
  return new WindowedTable({ title: "Its samples, hardest first", columns, rows, sort: "accuracy", height: 620 }).element;
}

/** A latent skill: the samples that ask most of it. */
function asking(view: View, k: number): HTMLElement {
  const { skills: s, samples: t } = view.of;
  if (!s.top) return h("section");
  const each = s.top.sample.length / s.name.length;
  const rows = Array.from({ length: each }, (_, rank) => k * each + rank);
  const columns: Column[] = [
    { key: "sample", label: "Sample", width: 170, value: (at) => t.name[s.top!.sample[at]], show: (at) => view.sampleLink(s.top!.sample[at]) },
    { key: "weight", label: "Asks", about: "The share of this skill in what the sample needs; shares sum to 1", width: 90, numeric: true, value: (at) => s.top!.weight[at], show: (at) => number(s.top!.weight[at]) },
    { key: "accuracy", label: "Accuracy", width: 100, numeric: true, value: (at) => t.accuracy[s.top!.sample[at]], show: (at) => percent(t.accuracy[s.top!.sample[at]]) },
  ];
  return new WindowedTable({ title: "Samples that need it most", columns, rows, height: 620 }).element;
}
