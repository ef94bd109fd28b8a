import { line } from "d3-shape";
import { s } from "../dom";
import { explained } from "../tooltip";
import { shown } from "../text";
import { extent, group, scale, xAxis, yAxis } from "./axes";

export interface CurvePoint {
  name: string;
  ability: number;
  response: number;
  chance: number | null;
  lines: string[];
  href: string;
}

/** Responses of all learners over their ability, and what the diagnoser expected of them. */
export function itemCurve(points: CurvePoint[], width: number, axis: string, smooth: boolean, label: string): SVGSVGElement {
  const height = Math.min(340, Math.max(250, width * 0.5));
  const [left, top, right, bottom] = [52, 22, width - 16, height - 50];
  const svg = group(width, height, label);
  const x = scale(extent(points.map((one) => one.ability)), [left + 8, right - 8]);
  const y = scale([0, 1], [bottom - 12, top + 12], false);
  svg.append(xAxis(x, top, bottom, axis), yAxis(y, left, right, "response"));
  const known = points.filter((one) => one.chance !== null).sort((a, b) => a.ability - b.ability);
  if (smooth && known.length > 1) {
    const path = line<CurvePoint>((one) => x(one.ability), (one) => y(one.chance!));
    svg.append(s("path", { class: "line c0", d: path(known) ?? "" }));
  } else for (const one of known) svg.append(s("circle", { class: "hollow c0", cx: x(one.ability), cy: y(one.chance!), r: 2.5 }));
  const stacked = new Map<string, number>();
  for (const one of points) {
    const cell = `${Math.round(x(one.ability) / 7)}:${one.response}`;
    const level = stacked.get(cell) ?? 0;
    stacked.set(cell, level + 1);
    const lift = one.response === 1 ? -4 - 5 * Math.min(level, 5) : one.response === 0 ? 4 + 5 * Math.min(level, 5) : 0;
    const mark = s(
      "a",
      { href: one.href, "aria-label": one.lines.join("; ") },
      s("circle", { class: `dot ${one.response > 0.5 ? "c2" : "c1"}`, cx: x(one.ability), cy: y(one.response) + lift, r: 4 }),
    );
    svg.append(explained(mark, () => one.lines.map(shown)));
  }
  return svg;
}
