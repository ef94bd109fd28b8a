import { s } from "../dom";
import type { Plot } from "../figure";
import { hush, tell } from "../tooltip";
import { number, ownParts, shown } from "../text";
import { canvasAt, colour, drawing, fitted, widthOf } from "./axes";

export interface HeatOptions {
  label: string;
  rows: string[];
  columns: string[];
  value: (row: number, column: number) => number;
  middle: number; // the neutral colour
  reach: number; // distance from the middle at full colour
  lines: (row: number, column: number) => string[];
  open?: (row: number, column: number) => void;
  ends: [string, string]; // what the two colours mean
  digits?: number;
}

const LONGEST = 140; // pixels of the name of a column
const [TILT, LEAN] = [0.82, 0.57]; // sine and cosine of 55 degrees

/** A matrix in two colours around a middle, on a canvas. */
export function heat(width: number, options: HeatOptions): Plot {
  const { rows, columns } = options;
  const rowHeight = rows.length <= 60 ? 20 : Math.max(2, Math.min(12, 900 / rows.length));
  const names = rowHeight >= 10 ? Math.min(180, width * 0.3) : 12;
  const own = ownParts(columns);
  const longest = Math.max(...own.map((one) => Math.min(LONGEST, widthOf(one))));
  const tilted = (width - names - 8) / columns.length < longest + 4;
  const cellWidth = (width - names - (tilted ? 8 + LEAN * longest : 8)) / columns.length;
  const top = (tilted ? 8 + TILT * longest : 22) + 26;
  const height = top + rows.length * rowHeight + 8;
  const svg = drawing(width, height, options.label);
  const { canvas, pen } = canvasAt(names, top, cellWidth * columns.length, rows.length * rowHeight);
  const paint = shades(options);
  const gap = rowHeight >= 10 && cellWidth >= 6 ? 1 : 0;
  rows.forEach((row, i) => {
    if (rowHeight >= 10)
      svg.append(s("text", { class: "who", x: names - 6, y: top + i * rowHeight + rowHeight / 2, "text-anchor": "end", "dominant-baseline": "central" }, fitted(row, names - 10)));
    columns.forEach((_, j) => {
      const value = options.value(i, j);
      if (!Number.isFinite(value)) return;
      pen.fillStyle = paint(value);
      pen.fillRect(j * cellWidth, i * rowHeight, cellWidth - gap, rowHeight - gap);
    });
  });
  const every = Math.max(1, Math.ceil(11 / cellWidth));
  own.forEach((column, j) => {
    if (j % every) return;
    const x = names + (j + 0.5) * cellWidth;
    const turn = tilted ? { transform: `rotate(-55 ${x} ${top - 6})`, "text-anchor": "start" } : { "text-anchor": "middle" };
    svg.append(s("text", { class: "who", x, y: top - 6, ...turn }, fitted(column, tilted ? (top - 32) / TILT : cellWidth - 4)));
  });
  svg.append(legend(width, options, paint));
  const frame = s("rect", { class: "ring", visibility: "hidden", width: cellWidth, height: rowHeight });
  const pad = s("rect", { class: "pad", x: names, y: top, width: cellWidth * columns.length, height: rows.length * rowHeight });
  svg.append(frame, pad);
  const at = (event: PointerEvent): [number, number] => {
    const box = pad.getBoundingClientRect();
    const i = Math.floor(((event.clientY - box.top) / box.height) * rows.length);
    const j = Math.floor(((event.clientX - box.left) / box.width) * columns.length);
    return [Math.min(rows.length - 1, Math.max(0, i)), Math.min(columns.length - 1, Math.max(0, j))];
  };
  pad.addEventListener("pointermove", (event) => {
    const [i, j] = at(event);
    frame.setAttribute("x", String(names + j * cellWidth));
    frame.setAttribute("y", String(top + i * rowHeight));
    frame.setAttribute("visibility", "visible");
    tell(options.lines(i, j).map(shown), event.clientX, event.clientY);
  });
  pad.addEventListener("pointerleave", () => {
    frame.setAttribute("visibility", "hidden");
    hush();
  });
  if (options.open) pad.addEventListener("click", (event) => options.open!(...at(event as PointerEvent)));
  return { svg, canvas };
}

type Rgb = [number, number, number];

function rgb(hex: string): Rgb {
  const n = parseInt(hex.replace("#", ""), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

function shades(options: HeatOptions): (value: number) => string {
  const [low, middle, high] = ["heat-low", "heat-middle", "heat-high"].map((name) => rgb(colour(name)));
  return (value) => {
    const t = Math.max(-1, Math.min(1, (value - options.middle) / options.reach));
    const end = t < 0 ? low : high;
    const mix = middle.map((m, k) => Math.round(m + Math.abs(t) ** 0.8 * (end[k] - m)));
    return `rgb(${mix.join(",")})`;
  };
}

function legend(width: number, options: HeatOptions, paint: (value: number) => string): SVGGElement {
  const [w, x0] = [120, width - 120 - 8 - 7 * options.ends[1].length];
  const steps = 24;
  return s(
    "g",
    { class: "axis" },
    s("text", { x: x0 - 6, y: 12, "text-anchor": "end" }, options.ends[0]),
    ...Array.from({ length: steps }, (_, k) =>
      s("rect", { x: x0 + (k * w) / steps, y: 4, width: w / steps + 0.5, height: 9, fill: paint(options.middle + options.reach * (2 * (k / (steps - 1)) - 1)) }),
    ),
    s("text", { x: x0 + w + 6, y: 12 }, options.ends[1]),
    s("text", { x: x0 + w / 2, y: 24, "text-anchor": "middle" }, number(options.middle, options.digits ?? 1)),
  );
}
