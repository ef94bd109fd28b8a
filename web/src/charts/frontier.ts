import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { s } from "../dom";
import { explained } from "../tooltip";
import { number, shown } from "../text";
import { extent, group, labelled, scale, yAxis } from "./axes";

export interface PricedPoint {
  name: string;
  href: string;
  cost: number;
  value: number;
  low: number;
  high: number;
  best: boolean; // on the frontier
  faded: boolean; // beyond the budget
  lines: string[];
}

const WIDE = 20; // times from the lowest to the highest cost, above which the axis is logarithmic

/** Quality over cost, with the line of those that nobody beats for the same money. */
export function pricedFrontier(points: PricedPoint[], width: number, axis: string, value: string, budget: number | null): SVGSVGElement {
  const height = Math.min(460, Math.max(320, width * 0.5));
  const [left, top, right, bottom] = [58, 16, width - 24, height - 48];
  const svg = group(width, height, `${value} over ${axis}`);
  const [cheapest, dearest] = extent(points.map((one) => one.cost));
  const logarithmic = cheapest > 0 && dearest / cheapest > WIDE;
  const x = logarithmic ? scaleLog().domain([cheapest, dearest]).range([left + 16, right - 16]) : scaleLinear().domain([Math.min(0, cheapest), dearest || 1]).range([left + 16, right - 16]);
  const y = scale(extent(points.flatMap((one) => [one.low, one.high, one.value])), [bottom, top]);
  svg.append(yAxis(y, left, right, value));
  const ticks = logarithmic ? x.ticks(4).filter((tick) => /^[125]/.test(tick.toExponential())) : x.ticks(Math.max(2, Math.min(8, Math.floor(width / 90))));
  svg.append(
    s(
      "g",
      { class: "axis" },
      ...ticks.flatMap((tick) => [s("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom }), s("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, number(tick, 4).replace(/\.?0+$/, ""))]),
      s("text", { class: "label", x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, `${axis}${logarithmic ? " (logarithmic)" : ""}`),
    ),
  );
  if (budget !== null && budget < dearest) svg.append(s("line", { class: "reference dashed", x1: x(Math.max(budget, cheapest)), x2: x(Math.max(budget, cheapest)), y1: top, y2: bottom }));
  const best = points.filter((one) => one.best).sort((a, b) => a.cost - b.cost);
  const path = line<PricedPoint>((one) => x(one.cost), (one) => y(one.value));
  svg.append(s("path", { class: "line c0", d: path(best) ?? "" }));
  for (const one of [...points].sort((a, b) => Number(a.best) - Number(b.best))) {
    const mark = s(
      "a",
      { href: one.href, class: one.faded ? "row faded" : "row", "aria-label": one.lines.map(shown).join("; ") },
      s("line", { class: `span ${one.best ? "c0" : "c5"}`, x1: x(one.cost), x2: x(one.cost), y1: y(one.low), y2: y(one.high) }),
      s("circle", { class: `dot ${one.best ? "c0" : "c5"}`, cx: x(one.cost), cy: y(one.value), r: one.best ? 5 : 3.5 }),
    );
    svg.append(explained(mark, () => one.lines.map(shown)));
  }
  svg.append(...names(best, (one) => x(one.cost), (one) => y(one.value), left, right));
  return svg;
}

/** Names of the points on the frontier where they do not cover each other. */
function names(best: PricedPoint[], x: (one: PricedPoint) => number, y: (one: PricedPoint) => number, left: number, right: number): SVGTextElement[] {
  const label = labelled(best.map((one) => one.name), 150);
  const taken: [number, number][] = [];
  return best.flatMap((one, i) => {
    const [px, py] = [x(one), y(one) - 10];
    if (taken.some(([tx, ty]) => Math.abs(tx - px) < 130 && Math.abs(ty - py) < 20)) return [];
    taken.push([px, py]);
    const anchor = px < left + 90 ? "start" : px > right - 90 ? "end" : "middle";
    return [s("text", { class: "who halo", x: px, y: py, "text-anchor": anchor }, label[i])];
  });
}
