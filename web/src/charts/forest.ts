import { s } from "../dom";
import { explained, spoken } from "../tooltip";
import { shown } from "../text";
import { extent, fitted, group, scale, widthOf, xAxis } from "./axes";

export interface ForestRow {
  name: string;
  href?: string;
  value: number;
  low: number;
  high: number;
  lines: string[]; // the tooltip: exact numbers with their intervals
  right?: string;
  series?: number; // colour, 0 to 5
  reference?: number; // a tick for comparison, such as the pool's mean
}

export interface ForestOptions {
  label: string;
  axis: string;
  ties?: [number, number][];
  domain?: [number, number];
  rightLabel?: string;
  rowHeight?: number;
  group?: number; // rows that belong together, set apart from the next
}

const LANES = 4;

/** One row a name: a dot with its interval, brackets for those that cannot be told apart. */
export function forest(rows: ForestRow[], width: number, options: ForestOptions): SVGSVGElement {
  const row = options.rowHeight ?? 24;
  const top = 44;
  const bracket = options.ties?.length ? 8 * Math.min(LANES, lanes(options.ties, rows.length).count) + 6 : 0;
  const names = Math.min(190, width * 0.34, 8 + Math.max(...rows.map((one) => widthOf(one.name)), 20));
  const right = options.rightLabel ? 62 : 14;
  const apart = (i: number) => (options.group ? 8 * Math.floor(i / options.group) : 0);
  const height = top + rows.length * row + apart(rows.length - 1) + 10;
  const svg = group(width, height, options.label);
  const domain = options.domain ?? extent(rows.flatMap((one) => [one.value, one.low, one.high, one.reference ?? NaN]));
  const x = scale(domain, [bracket + names + 12, width - right - 8]);
  svg.append(xAxis(x, top, height - 8, options.axis, true));
  if (options.rightLabel) svg.append(s("text", { class: "label", x: width - 4, y: top - 26, "text-anchor": "end" }, options.rightLabel));
  rows.forEach((one, i) => {
    const y = top + i * row + apart(i) + row / 2;
    const mark = s(
      one.href ? "a" : "g",
      { href: one.href, class: "row", ...spoken(one.lines, one.href && one.name ? one.name : ""), tabindex: one.href ? null : 0, role: one.href ? null : "img" },
      s("rect", { class: "hit", x: bracket, y: y - row / 2, width: width - bracket, height: row, rx: 4 }),
      s("text", { class: "who", x: bracket + names, y, "text-anchor": "end", "dominant-baseline": "central", direction: "ltr" }, fitted(one.name, names - 2)),
      one.reference !== undefined && Number.isFinite(one.reference)
        ? s("line", { class: "reference", x1: x(one.reference), x2: x(one.reference), y1: y - 7, y2: y + 7 })
        : null,
      Number.isFinite(one.low) ? s("line", { class: `span c${one.series ?? 0}`, x1: x(one.low), x2: x(one.high), y1: y, y2: y }) : null,
      Number.isFinite(one.value) ? s("circle", { class: `dot c${one.series ?? 0}`, cx: x(one.value), cy: y, r: 4.5 }) : null,
      one.right ? s("text", { class: "figure", x: width - 4, y, "text-anchor": "end", "dominant-baseline": "central" }, one.right) : null,
    );
    svg.append(explained(mark, () => one.lines.map(shown)));
  });
  if (options.ties) svg.append(brackets(options.ties, rows.length, top, row));
  return svg;
}

interface Lanes {
  count: number;
  places: { first: number; last: number; lane: number }[];
}

/** Runs side by side where they overlap. */
export function lanes(ties: [number, number][], rows: number): Lanes {
  const ends: number[] = [];
  const places = ties
    .filter(([first]) => first < rows)
    .map(([first, last]) => {
      let lane = ends.findIndex((end) => end < first);
      if (lane < 0) lane = ends.length;
      ends[lane] = last;
      return { first, last: Math.min(last, rows - 1), lane };
    });
  return { count: ends.length, places };
}

function brackets(ties: [number, number][], rows: number, top: number, row: number): SVGGElement {
  const { places } = lanes(ties, rows);
  return s(
    "g",
    { class: "ties", "aria-hidden": "true" },
    ...places
      .filter((one) => one.lane < LANES && one.last > one.first)
      .map((one) => s("line", { x1: 4 + 8 * one.lane, x2: 4 + 8 * one.lane, y1: top + one.first * row + 5, y2: top + (one.last + 1) * row - 5 })),
  );
}
