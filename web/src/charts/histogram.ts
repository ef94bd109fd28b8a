import { s } from "../dom";
import { explained } from "../tooltip";
import { count } from "../text";
import { drawing, scale, xAxis, yAxis } from "./axes";

/** Counts of numbers between 0 and 1 in equal steps. */
export function histogram(values: ArrayLike<number>, width: number, steps: number, axis: string, what: string): SVGSVGElement {
  const counts = binned(values, steps);
  const height = Math.min(240, Math.max(190, width * 0.4));
  const [left, top, right, bottom] = [54, 10, width - 12, height - 48];
  const svg = drawing(width, height, `${what} by ${axis}: ${counts.join(", ")} in ${steps} equal steps from 0 to 1`);
  const x = scale([0, 1], [left, right], false);
  const y = scale([0, Math.max(1, ...counts)], [bottom, top]);
  svg.append(xAxis(x, top, bottom, axis), yAxis(y, left, right, ""));
  counts.forEach((n, i) => {
    const [from, to] = [x(i / steps) + 1, x((i + 1) / steps) - 1];
    const bar = s("rect", { class: "column", x: from, y: y(n), width: Math.max(1, to - from), height: bottom - y(n), rx: 2 });
    svg.append(explained(bar, () => [`${count(n)} ${what}`, `${axis} ${(i / steps).toFixed(2)} to ${((i + 1) / steps).toFixed(2)}`]));
  });
  return svg;
}

export function binned(values: ArrayLike<number>, steps: number): number[] {
  const counts = Array.from({ length: steps }, () => 0);
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) counts[Math.min(steps - 1, Math.max(0, Math.floor(values[i] * steps)))]++;
  return counts;
}
