import { s } from "../dom";
import type { Plot } from "../figure";
import { hush, tell } from "../tooltip";
import { shown } from "../text";
import { canvasAt, colour, drawing, labelled, widthOf } from "./axes";

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
  figure: (value: number) => string; // a value as the legend and, where there is room, a cell says it
}

const LONGEST = 140; // pixels of the name of a column
const [TILT, LEAN] = [0.82, 0.57]; // sine and cosine of 55 degrees
const LEGEND = 44; // pixels above everything
const FIGURE = "11px"; // of the numbers in cells

/** A matrix in two colours around a middle, on a canvas; with its numbers where cells are large enough. */
export function heat(width: number, options: HeatOptions): Plot {
  const { rows, columns } = options;
  const rowHeight = rows.length <= 60 ? 20 : Math.max(2, Math.min(12, 900 / rows.length));
  const names = rowHeight >= 10 ? Math.min(200, width * 0.3, 16 + Math.max(...rows.map((one) => widthOf(one)))) : 12;
  const longest = Math.max(...labelled(columns, LONGEST).map((one) => widthOf(one)));
  const tilted = (width - names - 8) / columns.length < longest + 4;
  const cellWidth = (width - names - (tilted ? 8 + LEAN * longest : 8)) / columns.length;
  const top = LEGEND + (tilted ? 8 + TILT * longest : 18);
  const height = top + rows.length * rowHeight + 8;
  const svg = drawing(width, height, options.label);
  const { canvas, pen } = canvasAt(names, top, cellWidth * columns.length, rows.length * rowHeight);
  const paint = shades(options);
  const gap = rowHeight >= 10 && cellWidth >= 6 ? 1 : 0;
  const write = figures(pen, options, cellWidth, rowHeight);
  const rowNames = rowHeight >= 10 ? labelled(rows, names - 10) : [];
  rows.forEach((_, i) => {
    if (rowHeight >= 10)
      svg.append(s("text", { class: "who", x: names - 6, y: top + i * rowHeight + rowHeight / 2, "text-anchor": "end", "dominant-baseline": "central" }, rowNames[i]));
    columns.forEach((_, j) => {
      const value = options.value(i, j);
      if (!Number.isFinite(value)) return;
      pen.fillStyle = paint(value);
      pen.fillRect(j * cellWidth, i * rowHeight, cellWidth - gap, rowHeight - gap);
      write?.(value, i, j);
    });
  });
  const every = Math.max(1, Math.ceil(11 / cellWidth));
  const columnNames = labelled(columns, tilted ? LONGEST : cellWidth - 4);
  columnNames.forEach((column, j) => {
    if (j % every) return;
    const x = names + (j + 0.5) * cellWidth;
    const turn = tilted ? { transform: `rotate(-55 ${x} ${top - 6})`, "text-anchor": "start" } : { "text-anchor": "middle" };
    svg.append(s("text", { class: "who", x, y: top - 6, ...turn }, column));
  });
  svg.append(legend(options, paint));
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
    const t = toEnds(options, value);
    const end = t < 0 ? low : high;
    const mix = middle.map((m, k) => Math.round(m + Math.abs(t) ** 0.8 * (end[k] - m)));
    return `rgb(${mix.join(",")})`;
  };
}

/** −1 at full colour below the middle, 1 above. */
function toEnds(options: HeatOptions, value: number): number {
  return Math.max(-1, Math.min(1, (value - options.middle) / options.reach));
}

/** Writes a value into its cell; null where cells are too small. */
function figures(pen: CanvasRenderingContext2D, options: HeatOptions, cellWidth: number, rowHeight: number): ((value: number, i: number, j: number) => void) | null {
  const widest = Math.max(...[-1, -0.77, 0, 0.77, 1].map((t) => widthOf(options.figure(options.middle + t * options.reach), FIGURE)));
  if (rowHeight < 16 || cellWidth < widest + 4) return null;
  const [strong, plain] = [colour("heat-ink"), colour("ink")];
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = `${FIGURE} ${getComputedStyle(document.body).fontFamily}`;
  return (value, i, j) => {
    pen.fillStyle = Math.abs(toEnds(options, value)) > 0.6 ? strong : plain;
    pen.fillText(options.figure(value), (j + 0.5) * cellWidth, (i + 0.5) * rowHeight);
  };
}

/** What the colours mean, in a strip of its own above the names of the columns. */
function legend(options: HeatOptions, paint: (value: number) => string): SVGGElement {
  const [low, high] = [options.middle - options.reach, options.middle + options.reach];
  const left = 8 + widthOf(options.ends[0], "11.5px");
  const [w, steps] = [140, 28];
  const tick = (value: number, x: number) => s("text", { x, y: 30, "text-anchor": "middle" }, options.figure(value));
  return s(
    "g",
    { class: "axis" },
    s("text", { x: 0, y: 14 }, options.ends[0]),
    ...Array.from({ length: steps }, (_, k) => s("rect", { x: left + (k * w) / steps, y: 5, width: w / steps + 0.5, height: 10, fill: paint(low + (2 * options.reach * k) / (steps - 1)) })),
    s("text", { x: left + w + 8, y: 14 }, options.ends[1]),
    tick(low, left),
    tick(options.middle, left + w / 2),
    tick(high, left + w),
  );
}
