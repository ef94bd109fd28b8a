import { heat } from "../charts/heat";
import { h } from "../dom";
import { figure } from "../figure";
import { remember } from "../route";
import { mean, quantile } from "../statistics";
import { count, number, percent } from "../text";
import { choice, type View } from "../view";

const FIRST = 60; // learners with names beside their row

/** Every learner on every skill in colours: how far it is from what its level suggests, or its accuracy. */
export function strengthsMap(view: View): HTMLElement[] {
  const { skills: s, learners, choosing } = view.of;
  const found = choosing.strengths;
  const [n, k] = [learners.name.length, s.name.length];
  const state = {
    values: found && view.query["map"] !== "accuracy" ? "difference" : "accuracy",
    order: found && view.query["order"] !== "rank" ? "clustered" : "rank",
    all: view.query["rows"] === "all",
  };
  const places = () => {
    const kept = (i: number) => state.all || i < FIRST;
    if (!found || state.order === "rank") return { rows: learners.name.map((_, i) => i).filter(kept), columns: s.name.map((_, j) => j) };
    return { rows: Array.from(found.rows).filter(kept), columns: Array.from(found.columns) };
  };
  const chart = figure({
    title: "Strengths and weaknesses",
    wide: true,
    note: found
      ? "Observed minus expected: accuracy on the skill minus what the learner's overall level and the difficulty of the samples suggest, in percentage points. Similar learners and skills are neighbours. Hover for numbers, click for the learner."
      : "Accuracy by learner and skill. Hover for numbers, click for the learner.",
    draw: (width) => {
      const { rows, columns } = places();
      const at = (i: number, j: number) => rows[i] * k + columns[j];
      const relative = state.values === "difference" && found;
      const values = relative ? found.difference : s.accuracy;
      const middle = relative ? 0 : mean(s.accuracy);
      const reach = relative ? Math.max(0.02, quantile(found.difference.map(Math.abs), 0.98)) : Math.max(0.02, middle - quantile(s.accuracy, 0.01), quantile(s.accuracy, 0.99) - middle);
      return heat(width, {
        label: relative ? "Matrix of observed less expected accuracy, learners by skills; the learners' pages have the numbers" : "Matrix of accuracy, learners by skills; the learners' pages have the numbers",
        rows: rows.map((i) => learners.name[i]),
        columns: columns.map((j) => s.name[j]),
        value: (i, j) => values[at(i, j)],
        middle,
        reach: Math.min(reach, 1),
        ends: relative ? ["weaker", "stronger"] : ["less accurate", "more"],
        figure: (value) => (relative && value >= 0.005 ? "+" : "") + number(100 * value, 0),
        lines: (i, j) => [
          `${learners.name[rows[i]]} on ${s.name[columns[j]]}`,
          `${view.plain} ${view.skillAccuracy(rows[i], columns[j])}`,
          ...(found ? [`expected ${percent(found.expected[at(i, j)])}, ${found.sure[at(i, j)] ? "significant at 95 % (Holm over its skills)" : "not significant at 95 % (Holm over its skills)"}`] : []),
        ],
        open: (i) => {
          location.hash = view.learner(rows[i]);
        },
      });
    },
  });
  const set = (key: "values" | "order" | "all", name: string) => (value: string) => {
    if (key === "all") state.all = value === "all";
    else state[key] = value;
    remember({ [name]: value });
    chart.redraw();
  };
  const tools = [
    ...(found ? [choice("Colours show", [["difference", "observed − expected"], ["accuracy", view.plain]], state.values, set("values", "map")), choice("Order", [["clustered", "alike together"], ["rank", "by rank"]], state.order, set("order", "order"))] : []),
    ...(n > FIRST ? [choice("Learners", [["first", `first ${FIRST}`], ["all", `all ${count(n)}`]], state.all ? "all" : "first", set("all", "rows"))] : []),
  ];
  return [...(tools.length ? [h("div", { class: "controls" }, ...tools)] : []), chart];
}
