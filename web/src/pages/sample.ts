import { type CurvePoint, itemCurve } from "../charts/curve";
import { h, link, name } from "../dom";
import { figure } from "../figure";
import { answerGroups, answersOf, filled, question, type SampleRecord, verdictOnKey, whatIsHeld } from "../content";
import { chance, flagsOf, response, skillsOf } from "../model";
import { type Column, WindowedTable } from "../table";
import { brief, count, number, percent } from "../text";
import { facts, heading, type View } from "../view";
import { answer } from "./compare";
import { flagChips, WORD } from "./samples";

/** One sample: its factors, its curve, and who solved it. */
export function sampleDetail(view: View, j: number): Node[] {
  const { of } = view;
  const s = of.samples;
  const [b, bse, a, ase] = [s.difficulty[j], s.difficulty_se[j], s.discrimination[j], s.discrimination_se[j]];
  const skills = skillsOf(of, j);
  const axis = abilityOn(view, skills);
  const points = of.learners.name.flatMap((who, i): CurvePoint[] => {
    const given = response(of, j, i);
    if (given === null) return [];
    const likely = chance(of, j, i);
    const said = of.binary ? (given ? "right" : "wrong") : `response ${number(given)}`;
    return [{ name: who, ability: axis.of(i), response: given, chance: likely, href: view.learner(i), lines: [who, said, `${axis.label} ${axis.interval(i)}`, likely === null ? "" : `expected ${number(likely)}`].filter(Boolean) }];
  });
  const smooth = axis.whole;
  const hasChance = points.some((one) => one.chance !== null);
  return [
    h("p", { class: "back" }, link(view.to("samples", { ...view.query, sample: null }), "← all samples")),
    heading([name(s.name[j])], [...(skills.length ? ["Skill: ", ...skills.flatMap((k, i) => [i ? ", " : "", view.skillLink(k)])] : []), " ", flagChips(view, j)], "Sample"),
    facts([
      [percent(s.accuracy[j]), `${view.plain} of ${count(s.n[j])} responses`],
      [Number.isFinite(b) ? number(b) : "–", Number.isFinite(b) ? `difficulty, ${number(b - of.critical * bse)} to ${number(b + of.critical * bse)}` : "difficulty: not determined, because discrimination is not distinguishable from 0"],
      [number(a) || "–", Number.isFinite(ase) ? `discrimination, ${number(a - of.critical * ase)} to ${number(a + of.critical * ase)}` : "discrimination"],
      [number(s.infit[j]) || "–", "infit; 1 is expected"],
    ]),
    ...whyFlagged(view, j),
    ...content(view, j),
    figure({
      title: "Who solved it, by ability",
      wide: true,
      note: `${hasChance ? (smooth ? "The line is the response the diagnoser expects at each ability; " : "Hollow dots are expected responses; ") : ""}green learners were right, orange ones wrong. For a good sample, the learners that were right are at the right.`,
      draw: (width) => ({ svg: itemCurve(points, width, axis.label, smooth, `Responses to the sample over ability`) }),
    }),
    of.content && of.content.where[j] >= 0 ? filled(of, j, (record) => [solvers(view, j, axis, record)]) : solvers(view, j, axis),
  ];
}

interface AbilityAxis {
  label: string;
  of: (learner: number) => number;
  interval: (learner: number) => string;
  whole: boolean; // the expected response is a function of this number alone
}

/** The ability that the sample asks for: that of its only skill, else the overall one. */
function abilityOn(view: View, skills: number[]): AbilityAxis {
  const { of } = view;
  const k = of.skills.name.length;
  if (skills.length === 1 && k > 1 && ["camilla-base", "skill-vanilla"].includes(String(of.provenance["diagnoser"])))
    return { label: `ability on ${of.skills.name[skills[0]]}`, of: (i) => of.skills.ability[i * k + skills[0]], interval: (i) => view.skillAbility(i, skills[0]), whole: true };
  return { label: "ability", of: (i) => of.learners.ability[i], interval: (i) => view.ability(i), whole: of.by_ability };
}

/** Why a sample is flagged, in words, and what learners answered instead. */
function whyFlagged(view: View, j: number): Node[] {
  const { samples: s } = view.of;
  const flags = flagsOf(view.of, j);
  const said = s.why[j] || verdictOnKey(view.of.content, j);
  if (!flags.length) return said ? [h("p", { class: "verdict" }, said)] : [];
  const words = flags.map((flag) => s.flag_words[flag] ?? WORD[flag] ?? flag).map((text) => h("li", {}, `${text[0].toUpperCase()}${text.slice(1)}.`));
  return [h("div", { class: "callout" }, h("ul", { class: "why" }, ...words), said ? h("p", { class: "verdict" }, said) : null)];
}

/** What the sample asks, who was right and what the others said. */
function content(view: View, j: number): Node[] {
  const { of } = view;
  if (!of.content) return [];
  return [
    h(
      "section",
      { class: "card content" },
      h("header", { class: "bar" }, h("h2", {}, "The sample and its answers")),
      filled(of, j, (record) => [question(record), answersOf(record).length ? answerGroups(of, j, record, (i) => view.learner(i)) : null]),
      h("p", { class: "quiet note" }, whatIsHeld(of.content)),
    ),
  ];
}

function solvers(view: View, j: number, axis: AbilityAxis, record?: SampleRecord): HTMLElement {
  const { of } = view;
  const said = new Map<number, string>();
  for (const one of record ? answersOf(record) : []) if (!said.get(one.learner)) said.set(one.learner, one.answer || one.extracted);
  const columns: Column[] = [
    { key: "learner", label: "Learner", width: 180, value: (i) => of.learners.name[i], show: (i) => view.learnerLink(i) },
    { key: "rank", label: "Rank", width: 80, numeric: true, value: (i) => i + 1 },
    { key: "response", label: "Response", width: 110, numeric: true, value: (i) => response(of, j, i), show: (i) => answer(response(of, j, i), of.binary) },
    { key: "expected", label: "Expected", width: 110, numeric: true, value: (i) => chance(of, j, i), show: (i) => number(chance(of, j, i)) },
    { key: "ability", label: "Ability", width: 200, numeric: true, value: (i) => axis.of(i), show: (i) => axis.interval(i) },
    ...(said.size ? [{ key: "answer", label: "Answer", width: 220, value: (i: number) => said.get(i) ?? "", show: (i: number) => h("bdi", {}, brief(said.get(i) ?? "", 60)) }] : []),
  ];
  return new WindowedTable({ title: "Every learner on this sample", columns, rows: of.learners.name.map((_, i) => i), sort: "rank", height: 480 }).element;
}
