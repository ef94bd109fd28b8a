import { s } from "../dom";
import { explained, spoken } from "../tooltip";
import { shown } from "../text";
import { extent, group, labelled, scale, widthOf, xAxis } from "./axes";

export interface ForestRow {
  name: string;
  href?: string;
  value: number;
  low: number;
  high: number;
  lines: string[]; // the tooltip: exact numbers with their intervals
  right?: string;
  series?: number; // colour, 0 to 7
  reference?: number; // a tick for comparison, such as the pool's mean
  ticked?: boolean; // whether its box is ticked; undefined: it has no box
}

export interface ForestOptions {
  label: string;
  axis: string;
  ties?: number[][]; // sets of rows
  banded?: boolean; // the run of the first is shaded
  domain?: [number, number];
  zero?: boolean; // the axis holds 0
  rightLabel?: string;
  rowHeight?: number;
  group?: number; // rows that belong together, set apart from the next
  onTick?: (row: number, ticked: boolean) => void;
}

const LANES = 4;
const [TOP, BOX] = [44, 22]; // pixels: above the rows, and for a box
const FIGURE = "12px"; // as .figure in the style

/** One row per name: a dot with its interval, bars at the left for those that cannot be told apart. */
export function forest(rows: ForestRow[], width: number, options: ForestOptions): SVGSVGElement {
  const row = options.rowHeight ?? 24;
  const boxes = rows.some((one) => one.ticked !== undefined) ? BOX : 0;
  const bracket = boxes + (options.ties?.length ? 8 * Math.min(LANES, lanes(options.ties, rows.length).count) + 6 : 0);
  const names = Math.min(210, width * 0.34, 8 + Math.max(...rows.map((one) => widthOf(one.name)), 20));
  const right = rightRoom(rows, width, options.rightLabel);
  const label = labelled(rows.map((one) => one.name), names - 2);
  const apart = (i: number) => (options.group ? 8 * Math.floor(i / options.group) : 0);
  const height = TOP + rows.length * row + apart(rows.length - 1) + 10;
  const svg = group(width, height, options.label);
  const [low, high] = options.domain ?? extent(rows.flatMap((one) => [one.value, one.low, one.high, one.reference ?? NaN]));
  const x = scale(options.zero ? [Math.min(0, low), Math.max(0, high)] : [low, high], [bracket + names + 12, width - right - 8]);
  if (options.banded) svg.append(...band(options.ties ?? [], rows.length, row, boxes, width - boxes));
  svg.append(xAxis(x, TOP, height - 8, options.axis, true));
  if (options.rightLabel) svg.append(s("text", { class: "label", x: width - 4, y: TOP - 26, "text-anchor": "end" }, options.rightLabel));
  rows.forEach((one, i) => {
    const y = TOP + i * row + apart(i) + row / 2;
    const series = `c${one.series ?? 0}`;
    const mark = s(
      one.href ? "a" : "g",
      { href: one.href, class: "row", ...spoken(one.lines, one.href && one.name ? one.name : ""), tabindex: one.href ? null : 0, role: one.href ? null : "img" },
      s("rect", { class: "hit", x: bracket, y: y - row / 2, width: width - bracket, height: row, rx: 4 }),
      s("text", { class: "who", x: bracket + names, y, "text-anchor": "end", "dominant-baseline": "central", direction: "ltr" }, label[i]),
      one.reference !== undefined && Number.isFinite(one.reference)
        ? s("line", { class: "reference", x1: x(one.reference), x2: x(one.reference), y1: y - 7, y2: y + 7 })
        : null,
      Number.isFinite(one.low) ? s("line", { class: `span ${series}`, x1: x(one.low), x2: x(one.high), y1: y, y2: y }) : null,
      Number.isFinite(one.value) ? s("circle", { class: `dot ${series}`, cx: x(one.value), cy: y, r: 4 }) : null,
      one.right && right > 20 ? s("text", { class: "figure", x: width - 4, y, "text-anchor": "end", "dominant-baseline": "central" }, one.right) : null,
    );
    svg.append(explained(mark, () => one.lines.map(shown)));
    if (one.ticked !== undefined) svg.append(box(one, y, (ticked) => options.onTick?.(i, ticked)));
  });
  if (options.ties) svg.append(brackets(options.ties, rows.length, TOP, row, boxes));
  return svg;
}

/** Pixels for the figures at the right; none where they would leave the dots too little. */
function rightRoom(rows: ForestRow[], width: number, label: string | undefined): number {
  if (!label) return 14;
  const wanted = 12 + Math.max(widthOf(label, FIGURE), ...rows.map((one) => widthOf(one.right ?? "", FIGURE)));
  return wanted < width * 0.42 ? Math.max(62, wanted) : 14;
}

/** A box to tick, by pointer or by keyboard. */
function box(one: ForestRow, y: number, act: (ticked: boolean) => void): SVGGElement {
  const mark = s(
    "g",
    { class: "tickbox", role: "checkbox", tabindex: 0, "aria-checked": String(one.ticked), "aria-label": `Compare ${shown(one.name)}` },
    s("rect", { class: "hit", x: 0, y: y - 10, width: BOX, height: 20 }),
    s("rect", { class: "edge", x: 4, y: y - 6, width: 12, height: 12, rx: 3 }),
    s("path", { class: "check", d: `M6.5 ${y}l2.5 2.8l4.6 -5.6` }),
  );
  const turn = () => {
    const ticked = mark.getAttribute("aria-checked") !== "true";
    mark.setAttribute("aria-checked", String(ticked));
    act(ticked);
  };
  mark.addEventListener("click", turn);
  mark.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    turn();
  });
  return mark;
}

interface Lanes {
  count: number;
  places: { rows: number[]; lane: number }[];
}

/** Sets side by side where they overlap. */
export function lanes(ties: number[][], rows: number): Lanes {
  const ends: number[] = [];
  const places = ties
    .map((places) => places.filter((place) => place < rows))
    .filter((places) => places.length > 1)
    .map((places) => {
      let lane = ends.findIndex((end) => end < places[0]);
      if (lane < 0) lane = ends.length;
      ends[lane] = places[places.length - 1];
      return { rows: places, lane };
    });
  return { count: ends.length, places };
}

/** The rows that cannot be told apart from the first. */
function band(ties: number[][], rows: number, row: number, left: number, width: number): SVGRectElement[] {
  const tied = new Set(ties.filter((places) => places[0] === 0).flat());
  return [...tied].filter((place) => place < rows).map((place) => s("rect", { class: "tied", x: left, y: TOP + place * row, width, height: row }));
}

/** A thick bar beside the rows of a set, thin where it passes others. */
function brackets(ties: number[][], rows: number, top: number, row: number, left: number): SVGGElement {
  const { places } = lanes(ties, rows);
  const bar = (lane: number, first: number, last: number, thin: boolean) => {
    const x = left + 4 + 8 * lane;
    return s("line", { class: thin ? "thin" : null, x1: x, x2: x, y1: top + first * row + (thin ? row / 2 : 5), y2: top + (last + 1) * row - (thin ? row / 2 : 5) });
  };
  return s(
    "g",
    { class: "ties", "aria-hidden": "true" },
    ...places
      .filter((one) => one.lane < LANES)
      .flatMap((one) => [bar(one.lane, one.rows[0], one.rows[one.rows.length - 1], true), ...runsOf(one.rows).map(([first, last]) => bar(one.lane, first, last, false))]),
  );
}

/** Neighbours taken together: first and last of each run. */
export function runsOf(places: number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const place of places) {
    const run = runs[runs.length - 1];
    if (run && place === run[1] + 1) run[1] = place;
    else runs.push([place, place]);
  }
  return runs;
}
