import { forest } from "../charts/forest";
import { spread } from "../charts/spread";
import { h, link, name } from "../dom";
import { figure } from "../figure";
import { mean, quantile } from "../statistics";
import { type Column, WindowedTable } from "../table";
import { count, interval, number, percent } from "../text";
import { choice, facts, heading, type Page, placeOf, type View } from "../view";
import { levelOn } from "./leaderboard";
import { strengthsMap } from "./strengths";

const SHOWN = 40;

export const skills: Page = (view) => {
  const k = placeOf(view.of.skills.name, view.query["skill"]);
  return k >= 0 ? oneSkill(view, k) : allSkills(view);
};

function best(view: View, k: number): number {
  const { ability } = levelOn(view, k);
  return view.of.learners.name.reduce((top, _, i) => (ability[i] > ability[top] ? i : top), 0);
}

function allSkills(view: View): Node[] {
  const about = view.of.latent ? "The diagnoser found these skills itself; each is named by the samples that ask most of it." : "What each skill contains and how learners spread on it.";
  return [heading("Skills", about), overview(view), spreads(view), ...strengthsMap(view)];
}

function overview(view: View): HTMLElement {
  const { skills: s, samples, learners } = view.of;
  const k = s.name.length;
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
      key: "best_ability", label: "Its ability", width: 180, numeric: true, value: (skill) => s.ability[top[skill] * k + skill],
      show: (skill) => view.skillAbility(top[skill], skill),
    },
    ...(s.top ? [{ key: "named_by", label: "Named by", width: 320, value: (skill: number) => named(skill).join(" | "), show: (skill: number) => h("span", {}, ...named(skill).flatMap((one, i) => [i ? ", " : "", name(one)])) }] : []),
  ];
  return new WindowedTable({ title: "Skills", columns, rows: s.name.map((_, skill) => skill), height: 420 }).element;
}

function spreads(view: View): HTMLElement {
  const { skills: s, learners } = view.of;
  const k = s.name.length;
  const wide = (skill: number) => quantile(learners.name.map((_, i) => s.ability[i * k + skill]), 0.9) - quantile(learners.name.map((_, i) => s.ability[i * k + skill]), 0.1);
  const order = s.name.map((_, skill) => skill);
  const chosen = k <= SHOWN ? order : order.sort((a, b) => wide(b) - wide(a)).slice(0, SHOWN);
  return figure({
    title: "How learners spread",
    wide: true,
    note: `Thick: the middle half of the learners; thin: the middle 80 %; dot: the median; ticks: each learner.${chosen.length < k ? ` The ${SHOWN} of ${k} skills with the widest spread.` : ""}`,
    draw: (width) => ({
      svg: spread(
        chosen.map((skill) => {
          const values = learners.name.map((_, i) => s.ability[i * k + skill]);
          const top = best(view, skill);
          return {
            name: s.name[skill],
            href: view.skill(skill),
            values,
            best: learners.name[top],
            lines: [s.name[skill], `median ${number(quantile(values, 0.5))}, middle half ${number(quantile(values, 0.25))} to ${number(quantile(values, 0.75))}`, `best ${learners.name[top]}: ${view.skillAbility(top, skill)}`],
          };
        }),
        width,
        view.of.unit ? "ability" : "ability (sd)",
        "Spread of learners by skill",
      ),
    }),
  });
}

function oneSkill(view: View, k: number): Node[] {
  const { skills: s, samples, learners } = view.of;
  const level = levelOn(view, k);
  const order = learners.name.map((_, i) => i).sort((a, b) => level.ability[b] - level.ability[a]);
  const rows = samples.name.map((_, j) => j).filter((j) => samples.needs?.[j * s.name.length + k]);
  const top = best(view, k);
  return [
    h("p", { class: "back" }, link(view.to("skills"), "← all skills")),
    heading([name(s.name[k])], ["Best: ", view.learnerLink(top), `, ability ${view.skillAbility(top, k)}.`], view.of.latent ? "Latent skill" : "Skill"),
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
      [number(quantile(level.ability, 0.5)), "median ability"],
    ]),
    h(
      "div",
      { class: "columns even" },
      figure({
        title: `Learners on this skill${order.length > SHOWN ? `, first ${SHOWN}` : ""}`,
        note: "Overlapping intervals: the order is not sure.",
        draw: (width) => ({
          svg: forest(
            order.slice(0, SHOWN).map((i) => ({
              name: learners.name[i],
              href: view.learner(i),
              value: level.ability[i],
              low: level.low[i],
              high: level.high[i],
              right: percent(level.accuracy[i]),
              lines: [learners.name[i], `ability ${interval(level.ability[i], level.low[i], level.high[i])}`, `${view.plain} ${view.skillAccuracy(i, k)}`],
            })),
            width,
            { label: "Abilities on this skill", axis: view.of.unit ? "ability" : "ability (sd)", rightLabel: view.plain, rowHeight: 20 },
          ),
        }),
      }),
      rows.length ? contents(view, rows) : asking(view, k),
    ),
  ];
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
    { key: "weight", label: "Asks", about: "The share of this skill in what the sample asks; shares sum to 1", width: 90, numeric: true, value: (at) => s.top!.weight[at], show: (at) => number(s.top!.weight[at]) },
    { key: "accuracy", label: "Accuracy", width: 100, numeric: true, value: (at) => t.accuracy[s.top!.sample[at]], show: (at) => percent(t.accuracy[s.top!.sample[at]]) },
  ];
  return new WindowedTable({ title: "Samples that ask most of it", columns, rows, height: 620 }).element;
}
