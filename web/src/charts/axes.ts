import { scaleLinear, type ScaleLinear } from "d3-scale";
import { s } from "../dom";
import { labels, number, shown } from "../text";

export type Scale = ScaleLinear<number, number>;

export function drawing(width: number, height: number, label: string): SVGSVGElement {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
}

/** As `drawing`, for charts whose marks can be reached by keyboard one by one. */
export function group(width: number, height: number, label: string): SVGSVGElement {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label });
}

export function scale(domain: [number, number], range: [number, number], nice = true): Scale {
  const [low, high] = domain[0] === domain[1] ? [domain[0] - 1, domain[1] + 1] : domain;
  const made = scaleLinear().domain([low, high]).range(range);
  return nice ? made.nice(6) : made;
}

let ruler: CanvasRenderingContext2D | null = null;
let family = "";
let ruled = "";

const WHO = "12.5px"; // as .who in the style

/** How many pixels a name takes on an axis, or a text in another size. */
export function widthOf(name: string, size = WHO): number {
  ruler ??= document.createElement("canvas").getContext("2d")!;
  family ||= getComputedStyle(document.body).fontFamily;
  if (ruled !== size) ruler.font = `${(ruled = size)} ${family}`;
  return ruler.measureText(shown(name)).width;
}

/** Labels of so many pixels at most, no two alike. */
export function labelled(names: string[], pixels: number): string[] {
  const known = new Map<string, boolean>();
  return labels(names, (text) => {
    if (!known.has(text)) known.set(text, widthOf(text) <= pixels);
    return known.get(text)!;
  });
}

/** Low and high of all finite numbers. */
export function extent(...columns: ArrayLike<number>[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns)
    for (let i = 0; i < column.length; i++) {
      const value = column[i];
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return low > high ? [0, 1] : [low, high];
}

const tickText = (at: Scale, ticks: number[]) => {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 1;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return ticks.map((tick) => ({ tick, place: at(tick), text: number(tick, digits) }));
};

/** Ticks along the bottom (or the top) with grid lines over the height. */
export function xAxis(at: Scale, top: number, bottom: number, label: string, above = false): SVGGElement {
  const [left, right] = at.range();
  const ticks = tickText(at, at.ticks(Math.max(2, Math.min(8, Math.floor((right - left) / 70)))));
  const y = above ? top - 8 : bottom + 18;
  return s(
    "g",
    { class: "axis" },
    ...ticks.flatMap(({ tick, place, text }) => [
      s("line", { class: tick === 0 ? "grid zero" : "grid", x1: place, x2: place, y1: top, y2: bottom }),
      s("text", { x: place, y, "text-anchor": "middle" }, text),
    ]),
    label ? s("text", { class: "label", x: (left + right) / 2, y: above ? top - 26 : bottom + 38, "text-anchor": "middle" }, label) : null,
  );
}

export function yAxis(at: Scale, left: number, right: number, label: string): SVGGElement {
  const [bottom, top] = at.range();
  const ticks = tickText(at, at.ticks(Math.max(2, Math.min(8, Math.floor((bottom - top) / 46)))));
  const middle = (top + bottom) / 2;
  return s(
    "g",
    { class: "axis" },
    ...ticks.flatMap(({ tick, place, text }) => [
      s("line", { class: tick === 0 ? "grid zero" : "grid", x1: left, x2: right, y1: place, y2: place }),
      s("text", { x: left - 8, y: place, "text-anchor": "end", "dominant-baseline": "central" }, text),
    ]),
    label ? s("text", { class: "label", x: 12, y: middle, transform: `rotate(-90 12 ${middle})`, "text-anchor": "middle" }, label) : null,
  );
}

/** A canvas over the plotting area, sharp on dense screens. */
export function canvasAt(x: number, y: number, w: number, h: number): { canvas: HTMLCanvasElement; pen: CanvasRenderingContext2D } {
  const canvas = document.createElement("canvas");
  const ratio = Math.max(1, Math.min(3, devicePixelRatio || 1));
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(h * ratio);
  Object.assign(canvas.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
  Object.assign(canvas.dataset, { x, y, w, h });
  canvas.setAttribute("aria-hidden", "true");
  const pen = canvas.getContext("2d")!;
  pen.scale(ratio, ratio);
  return { canvas, pen };
}

/** A colour of the theme by its name in the style sheet. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
