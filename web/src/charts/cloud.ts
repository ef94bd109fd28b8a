import { s } from "../dom";
import type { Plot } from "../figure";
import { hush, tell } from "../tooltip";
import { canvasAt, colour, drawing, type Scale, scale, xAxis, yAxis } from "./axes";

export type Box = [x0: number, x1: number, y0: number, y1: number];

export interface CloudOptions {
  label: string;
  xLabel: string;
  yLabel: string;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  domain: [[number, number], [number, number]];
  series?: (point: number) => number; // colour; higher numbers are drawn on top
  faded?: (point: number) => boolean;
  lines: (point: number) => string[];
  open?: (point: number) => void;
  brush?: Box | null;
  onBrush?: (box: Box | null) => void;
  diagonal?: [number, number]; // the line of x = y, from and to
  lane?: string; // where points without x stand, at the right, and what it is called
  height?: number;
}

/** Many points on a canvas: hover finds the nearest, a drag selects a box. Points beyond the axes stick to the edge. */
export function cloud(width: number, options: CloudOptions): Plot {
  const height = options.height ?? Math.min(460, Math.max(300, width * 0.55));
  const [left, top, right, bottom] = [58, 12, width - (options.lane ? 74 : 14), height - 48];
  const x = scale(options.domain[0], [left, right]);
  const y = scale(options.domain[1], [bottom, top]);
  const svg = drawing(width, height, options.label);
  svg.append(xAxis(x, top, bottom, options.xLabel), yAxis(y, left, right, options.yLabel));
  const grid = [...svg.querySelectorAll<SVGLineElement>("line.grid")];
  if (options.diagonal) {
    const [from, to] = options.diagonal;
    svg.append(s("line", { class: "reference dashed", x1: x(from), y1: y(from), x2: x(to), y2: y(to) }));
  }
  const { canvas, pen } = canvasAt(left - 6, top - 6, width - left, bottom - top + 12);
  const px = places(options.x, x, left, right);
  pen.translate(6 - left, 6 - top);
  beneath(pen, grid);
  if (options.lane) svg.append(lane(pen, px, right, top, bottom, options.lane));
  const py = places(options.y, y, top, bottom);
  paint(pen, px, py, options);
  const ring = s("circle", { class: "ring", r: 7, visibility: "hidden" });
  const box = s("rect", { class: "brush", visibility: "hidden" });
  const pad = s("rect", { class: "pad", x: left - 6, y: top - 6, width: width - left, height: bottom - top + 12 });
  svg.append(box, ring, pad);
  if (options.brush) place(box, [x(options.brush[0]), x(options.brush[1]), y(options.brush[3]), y(options.brush[2])]);
  listen(pad, svg, { px, py, x, y, ring, box, width }, options);
  return { svg, canvas };
}

function places(values: ArrayLike<number>, at: Scale, low: number, high: number): Float32Array {
  const out = new Float32Array(values.length);
  for (let i = 0; i < out.length; i++) out[i] = Number.isFinite(values[i]) ? Math.min(high, Math.max(low, at(values[i]))) : NaN;
  return out;
}

/** Moves grid lines from the drawing to the canvas, so that they lie under the points. */
function beneath(pen: CanvasRenderingContext2D, grid: SVGLineElement[]): void {
  for (const one of grid) {
    const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((key) => Number(one.getAttribute(key)));
    pen.strokeStyle = colour(one.classList.contains("zero") ? "soft" : "line");
    pen.globalAlpha = one.classList.contains("zero") ? 0.6 : 1;
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
    one.remove();
  }
  pen.globalAlpha = 1;
}

/** Points without x go into a strip of their own, spread by their number so that they do not hide each other. */
function lane(pen: CanvasRenderingContext2D, px: Float32Array, right: number, top: number, bottom: number, label: string): SVGGElement {
  const [from, to] = [right + 24, right + 62];
  for (let i = 0; i < px.length; i++) if (Number.isNaN(px[i])) px[i] = from + 6 + ((i * 0.618) % 1) * (to - from - 12);
  const middle = (from + to) / 2;
  pen.fillStyle = colour("faint");
  pen.fillRect(from, top - 4, to - from, bottom - top + 8);
  return s(
    "g",
    { class: "axis" },
    ...label.split(" ").map((word, i) => s("text", { x: middle, y: bottom + 16 + 13 * i, "text-anchor": "middle" }, word)),
  );
}

const MANY = 4_000; // points, above which they are squares: those are drawn several times as fast

function paint(pen: CanvasRenderingContext2D, px: Float32Array, py: Float32Array, options: CloudOptions): void {
  const n = px.length;
  const radius = n > 20_000 ? 1.5 : n > MANY ? 2 : n > 800 ? 2.6 : 3.6;
  const alpha = n > 20_000 ? 0.25 : n > MANY ? 0.4 : 0.6;
  const series = Uint8Array.from({ length: n }, (_, i) => options.series?.(i) ?? 0);
  const faded = Uint8Array.from({ length: n }, (_, i) => (options.faded?.(i) ? 1 : 0));
  for (let wanted = 0; wanted < 6; wanted++) {
    if (!series.includes(wanted)) continue;
    pen.fillStyle = colour(`c${wanted}`);
    const r = wanted ? radius + 1.2 : radius;
    for (const away of [1, 0]) {
      pen.globalAlpha = away ? alpha / 3 : wanted ? 0.95 : alpha;
      for (let i = 0; i < n; i++) {
        if (series[i] !== wanted || faded[i] !== away || Number.isNaN(px[i]) || Number.isNaN(py[i])) continue;
        if (wanted || n > MANY) pen.fillRect(px[i] - r, py[i] - r, 2 * r, 2 * r);
        else {
          pen.beginPath();
          pen.arc(px[i], py[i], r, 0, 2 * Math.PI);
          pen.fill();
        }
      }
    }
  }
}

interface Drawn {
  px: Float32Array;
  py: Float32Array;
  x: Scale;
  y: Scale;
  ring: SVGCircleElement;
  box: SVGRectElement;
  width: number;
}

export function nearest(px: Float32Array, py: Float32Array, x: number, y: number, reach: number): number {
  let best = -1;
  let least = reach * reach;
  for (let i = 0; i < px.length; i++) {
    const d = (px[i] - x) ** 2 + (py[i] - y) ** 2;
    if (d < least) {
      least = d;
      best = i;
    }
  }
  return best;
}

function place(box: SVGRectElement, [x0, x1, y0, y1]: Box): void {
  const set = { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0), visibility: "visible" };
  for (const [key, value] of Object.entries(set)) box.setAttribute(key, String(value));
}

function listen(pad: SVGRectElement, svg: SVGSVGElement, drawn: Drawn, options: CloudOptions): void {
  const { px, py, ring, box } = drawn;
  const at = (event: PointerEvent): [number, number] => {
    const frame = svg.getBoundingClientRect();
    const zoom = drawn.width / frame.width;
    return [(event.clientX - frame.left) * zoom, (event.clientY - frame.top) * zoom];
  };
  let start: [number, number] | null = null;
  pad.addEventListener("pointerdown", (event) => {
    start = at(event);
    pad.setPointerCapture(event.pointerId);
  });
  pad.addEventListener("pointermove", (event) => {
    const [mx, my] = at(event);
    if (start && options.onBrush && Math.hypot(mx - start[0], my - start[1]) > 5) {
      place(box, [start[0], mx, start[1], my]);
      hush();
      return;
    }
    const point = nearest(px, py, mx, my, 14);
    ring.setAttribute("visibility", point < 0 ? "hidden" : "visible");
    if (point < 0) return hush();
    ring.setAttribute("cx", String(px[point]));
    ring.setAttribute("cy", String(py[point]));
    tell(options.lines(point), event.clientX, event.clientY);
  });
  pad.addEventListener("pointerup", (event) => {
    const [mx, my] = at(event);
    const moved = start && Math.hypot(mx - start[0], my - start[1]) > 5;
    if (moved && options.onBrush) {
      const [x0, x1] = [drawn.x.invert(Math.min(start![0], mx)), drawn.x.invert(Math.max(start![0], mx))];
      const [y0, y1] = [drawn.y.invert(Math.max(start![1], my)), drawn.y.invert(Math.min(start![1], my))];
      options.onBrush([x0, x1, y0, y1]);
    } else {
      const point = nearest(px, py, mx, my, 14);
      if (point >= 0 && options.open) options.open(point);
      else if (options.onBrush) {
        box.setAttribute("visibility", "hidden");
        options.onBrush(null);
      }
    }
    start = null;
  });
  pad.addEventListener("pointerleave", () => {
    ring.setAttribute("visibility", "hidden");
    hush();
  });
}
