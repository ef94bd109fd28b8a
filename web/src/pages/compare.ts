import { forest } from "../charts/forest";
import { h, name } from "../dom";
import { figure } from "../figure";
import { response } from "../model";
import { pairedDifference, tested } from "../pair";
import { type Column, WindowedTable } from "../table";
import { brief, briefLabels, count, interval, number, percent, pValue } from "../text";
import { choice, heading, nameOptions, type Page, type View } from "../view";
import { deciding } from "./deciding";

const MOST = 6;

export const compare: Page = (view) => {
  const { learners } = view.of;
  const chosen = wanted(view);
  const go = (rows: number[]) => {
    location.hash = view.to("compare", { learners: JSON.stringify(rows.map((i) => learners.name[i])) });
  };
  const rest = learners.name.map((_, i) => i).filter((i) => !chosen.includes(i));
  return [
    heading("Compare learners", "Side by side: which differences the data show, and which they cannot."),
    h(
      "div",
      { class: "controls" },
      h(
        "ul",
        { class: "chips" },
        ...chosen.map((i, place) =>
          h(
            "li",
            {},
            h("span", { class: `swatch c${place}`, "aria-hidden": "true" }),
            view.learnerLink(i),
            chosen.length > 2
              ? h("button", { type: "button", class: "remove", "aria-label": `Remove ${brief(learners.name[i], 60)}`, onclick: () => go(chosen.filter((one) => one !== i)) }, "×")
              : null,
          ),
        ),
      ),
      chosen.length < MOST && rest.length
        ? choice("Add", [["", "choose a learner"], ...nameOptions(learners.name, (i) => `${i + 1}. `).filter((_, i) => rest.includes(i))], "", (value) => value && go([...chosen, learners.name.indexOf(value)]))
        : null,
    ),
    ...(chosen.length < 2 ? [h("p", {}, "There is no second learner to compare with.")] : [verdicts(view, chosen), overall(view, chosen), ...(view.hasSkills ? [bySkill(view, chosen)] : []), deciding(view, chosen[0], chosen[1]), disagreements(view, chosen)]),
  ];
};

function wanted(view: View): number[] {
  const { name: names } = view.of.learners;
  let given: unknown = [];
  try {
    given = JSON.parse(view.query["learners"] ?? "[]");
  } catch {
    given = [];
  }
  const places = Array.isArray(given) ? given.map((one) => names.indexOf(String(one))).filter((i) => i >= 0) : [];
  const unique = [...new Set(places)].slice(0, MOST);
  for (let i = 0; unique.length < 2 && i < names.length; i++) if (!unique.includes(i)) unique.push(i);
  return unique;
}

function verdicts(view: View, chosen: number[]): HTMLElement {
  const { of } = view;
  const pairs = chosen.flatMap((a, i) => chosen.slice(i + 1).map((b): [number, number] => (a < b ? [a, b] : [b, a])));
  const latent = (at: number) => tested(of, ...pairs[at]);
  const plain = (at: number) => pairedDifference(of, ...pairs[at]);
  const told = (at: number) => latent(at)?.verdict ?? "not tested: the page has too many learners";
  const columns: Column[] = [
    {
      key: "pair", label: "Pair", width: 160, value: (at) => `${of.learners.name[pairs[at][0]]} / ${of.learners.name[pairs[at][1]]}`,
      show: (at) => h("span", { class: "pair" }, name(of.learners.name[pairs[at][0]]), " / ", name(of.learners.name[pairs[at][1]])),
    },
    { key: "verdict", label: "Verdict at 95 %", width: 190, value: told },
    {
      key: "ability_difference", label: "Ability difference", width: 165, numeric: true, value: (at) => latent(at)?.difference ?? null,
      show: (at) => (latent(at) ? interval(latent(at)!.difference, latent(at)!.low, latent(at)!.high) : ""),
      more: [["p_first_above", (at) => latent(at)?.better ?? null]],
    },
    {
      key: "difference", label: `${of.binary ? "Accuracy" : "Mean"} difference, %`, about: "Paired over the samples both answered", width: 180, numeric: true, value: (at) => plain(at)?.mean ?? null,
      show: (at) => {
        const d = plain(at);
        return d ? `${number(100 * d.mean, 1)} (${number(100 * d.low, 1)} to ${number(100 * d.high, 1)})` : "";
      },
      more: [["difference_low", (at) => plain(at)?.low ?? null], ["difference_high", (at) => plain(at)?.high ?? null]],
    },
    { key: "p", label: of.binary ? "Exact p" : "p", about: of.binary ? "McNemar's exact test on samples that only one solved" : "Student's t over the samples both answered", width: 80, numeric: true, value: (at) => plain(at)?.p ?? null, show: (at) => pValue(plain(at)?.p ?? NaN) },
    ...(of.binary
      ? [{
          key: "only_first", label: "Solved by one only", about: "Samples that only the first solved : samples that only the second solved", width: 150, numeric: true,
          value: (at: number) => plain(at)?.onlyFirst ?? null,
          show: (at: number) => (plain(at) ? `${count(plain(at)!.onlyFirst!)} : ${count(plain(at)!.onlySecond!)}` : ""),
          more: [["only_second", (at: number) => plain(at)?.onlySecond ?? null], ["shared", (at: number) => plain(at)?.shared ?? null]] as [string, (at: number) => number | null][],
        }]
      : []),
  ];
  return new WindowedTable({
    title: "Are they different?",
    columns,
    rows: pairs.map((_, at) => at),
    height: 360,
    note: `The verdict is the leaderboard's: it counts all pairs of learners, at 95\u00a0%. The p-value is of the pair alone, by counting on the samples both answered. The difference of abilities: ${of.pairs?.by_draws ? `${of.estimand}, by draws of the posterior` : "errors of two learners treated as independent"}.`,
  }).element;
}

function overall(view: View, chosen: number[]): HTMLElement {
  const { learners } = view.of;
  return figure({
    title: "Ability overall",
    draw: (width) => ({
      svg: forest(
        chosen.map((i, place) => ({
          name: learners.name[i],
          href: view.learner(i),
          value: learners.ability[i],
          low: learners.low[i],
          high: learners.high[i],
          series: place,
          right: percent(learners.accuracy[i]),
          lines: [learners.name[i], `ability ${view.ability(i)}`, `${view.plain} ${view.accuracy(i)}`],
        })),
        width,
        { label: "Abilities of the chosen learners", axis: view.of.unit ? "ability" : "ability (sd)", rightLabel: view.plain, rowHeight: 30 },
      ),
    }),
  });
}

function bySkill(view: View, chosen: number[]): HTMLElement {
  const { skills, learners } = view.of;
  const k = skills.name.length;
  const one = skills.one_for_all; // then abilities by skill cannot differ, and accuracies are shown
  const [value, low, high] = one ? [skills.accuracy, skills.accuracy_low, skills.accuracy_high] : [skills.ability, skills.low, skills.high];
  const gap = (skill: number) => {
    const values = chosen.map((i) => value[i * k + skill]);
    return Math.max(...values) - Math.min(...values);
  };
  const order = skills.name.map((_, skill) => skill).sort((a, b) => gap(b) - gap(a)).slice(0, 24);
  const what = one ? view.plain : "ability";
  return figure({
    title: `${what[0].toUpperCase()}${what.slice(1)} by skill, widest gap first`,
    note: `${chosen.length} rows per skill, in the order of the names above.${one ? " This diagnosis has one ability for all skills, so accuracies are compared." : ""}${order.length < k ? ` The ${order.length} of ${k} skills with the widest gaps.` : ""}`,
    draw: (width) => ({
      svg: forest(
        order.flatMap((skill) =>
          chosen.map((i, place) => ({
            name: place ? "" : skills.name[skill],
            href: view.skill(skill),
            value: value[i * k + skill],
            low: low[i * k + skill],
            high: high[i * k + skill],
            series: place,
            right: percent(skills.accuracy[i * k + skill]),
            lines: [`${skills.name[skill]}: ${learners.name[i]}`, ...(one ? [] : [`ability ${view.skillAbility(i, skill)}`]), `${view.plain} ${view.skillAccuracy(i, skill)}`],
          })),
        ),
        width,
        { label: `${what} of the chosen learners by skill`, axis: one || view.of.unit ? what : "ability (sd)", rightLabel: view.plain, rowHeight: 17, group: chosen.length },
      ),
    }),
  });
}

/** The samples on which the chosen learners do not all answer alike. */
function disagreements(view: View, chosen: number[]): HTMLElement {
  const { of } = view;
  const rows: number[] = [];
  of.samples.name.forEach((_, j) => {
    const answers = chosen.map((i) => response(of, j, i)).filter((one) => one !== null);
    if (answers.length > 1 && Math.max(...answers) - Math.min(...answers) > 0.5) rows.push(j);
  });
  const heads = briefLabels(chosen.map((i) => of.learners.name[i]), 24);
  const columns: Column[] = [
    { key: "sample", label: "Sample", width: 170, value: (j) => of.samples.name[j], show: (j) => view.sampleLink(j) },
    { key: "accuracy", label: "All learners", width: 110, numeric: true, value: (j) => of.samples.accuracy[j], show: (j) => percent(of.samples.accuracy[j]) },
    ...chosen.map((i, place): Column => ({
      key: of.learners.name[i], label: heads[place], about: of.learners.name[i], width: 140, numeric: true,
      value: (j) => response(of, j, i), show: (j) => answer(response(of, j, i), of.binary),
    })),
  ];
  const part = of.samples.name.length < of.samples.total ? ` Among the ${count(of.samples.name.length)} samples on this page.` : "";
  return new WindowedTable({ title: "Samples they answer differently", columns, rows, height: 420, sort: "-accuracy", note: `Responses more than one half apart.${part}` }).element;
}

export function answer(value: number | null, binary: boolean): Node | string {
  if (value === null) return h("span", { class: "quiet" }, "missing");
  if (!binary) return number(value);
  return value ? h("span", { class: "right" }, "right") : h("span", { class: "wrong" }, "wrong");
}
