import { type CurvePoint, itemCurve } from "../charts/curve";
import { h, link, name } from "../dom";
import { figure } from "../figure";
import { chance, response, skillsOf } from "../model";
import { type Column, WindowedTable } from "../table";
import { count, number, percent } from "../text";
import { facts, heading, type View } from "../view";
import { answer } from "./compare";
import { flagChips } from "./samples";

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
      [Number.isFinite(b) ? number(b) : "–", Number.isFinite(b) ? `difficulty, ${number(b - of.critical * bse)} to ${number(b + of.critical * bse)}` : "difficulty: not determined, discrimination is not told from 0"],
      [number(a) || "–", Number.isFinite(ase) ? `discrimination, ${number(a - of.critical * ase)} to ${number(a + of.critical * ase)}` : "discrimination"],
      [number(s.infit[j]) || "–", "infit; 1 is expected"],
    ]),
    figure({
      title: "Who solved it, by ability",
      wide: true,
      note: `${hasChance ? (smooth ? "The line is the response the diagnoser expects at each ability; " : "Hollow dots are expected responses; ") : ""}green learners were right, orange ones wrong. A sound sample has the right ones at the right.`,
      draw: (width) => ({ svg: itemCurve(points, width, axis.label, smooth, `Responses to the sample over ability`) }),
    }),
    solvers(view, j, axis),
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
  return { label: "ability", of: (i) => of.learners.ability[i], interval: (i) => view.ability(i), whole: of.provenance["diagnoser"] === "irt" };
}

function solvers(view: View, j: number, axis: AbilityAxis): HTMLElement {
  const { of } = view;
  const columns: Column[] = [
    { key: "learner", label: "Learner", width: 180, value: (i) => of.learners.name[i], show: (i) => view.learnerLink(i) },
    { key: "rank", label: "Rank", width: 80, numeric: true, value: (i) => i + 1 },
    { key: "response", label: "Response", width: 110, numeric: true, value: (i) => response(of, j, i), show: (i) => answer(response(of, j, i), of.binary) },
    { key: "expected", label: "Expected", width: 110, numeric: true, value: (i) => chance(of, j, i), show: (i) => number(chance(of, j, i)) },
    { key: "ability", label: "Ability", width: 200, numeric: true, value: (i) => axis.of(i), show: (i) => axis.interval(i) },
  ];
  return new WindowedTable({ title: "Every learner on this sample", columns, rows: of.learners.name.map((_, i) => i), sort: "rank", height: 480 }).element;
}
