import { area, line } from "d3-shape";
import { s } from "../dom";
import type { Picture } from "../model";
import { explained } from "../tooltip";
import { interval, number, shown } from "../text";
import { drawing, extent, labelled, scale, xAxis, yAxis } from "./axes";

/** Lines over a growing size or cost, each with its band. */
export function bands(picture: Picture, width: number): SVGSVGElement {
  const legendRows = Math.ceil(picture.series.length / Math.max(1, Math.floor(width / 180)));
  const height = Math.min(420, Math.max(280, width * 0.5)) + 18 * legendRows;
  const [left, top, right, bottom] = [58, 12, width - 16, height - 52 - 18 * legendRows];
  const svg = drawing(width, height, `${picture.title}: ${picture.y} over ${picture.x}`);
  const all = picture.series.flatMap((one) => [...one.value, ...one.low, ...one.high]).map((value) => value ?? NaN);
  const x = scale(extent(picture.series.flatMap((one) => one.x)), [left, right], false);
  const y = scale(extent(all), [bottom, top]);
  svg.append(xAxis(x, top, bottom, picture.x), yAxis(y, left, right, picture.y));
  const names = labelled(picture.series.map((one) => one.name), 150);
  picture.series.forEach((one, k) => {
    const places = one.x.map((_, i) => i);
    const known = places.filter((i) => one.low[i] !== null && one.high[i] !== null);
    const band = area<number>((i) => x(one.x[i]), (i) => y(one.low[i]!), (i) => y(one.high[i]!));
    const path = line<number>((i) => x(one.x[i]), (i) => y(one.value[i]));
    svg.append(s("path", { class: `band c${k % 6}`, d: band(known) ?? "" }), s("path", { class: `line c${k % 6}${k > 5 ? " dashed" : ""}`, d: path(places) ?? "" }));
  });
  picture.series.forEach((one, k) => {
    one.x.forEach((at, i) => {
      const lines = [one.name, `${picture.x} ${number(at, Number.isInteger(at) ? 0 : Math.abs(at) < 1 ? 4 : 2)}`, `${picture.y} ${interval(one.value[i], one.low[i] ?? NaN, one.high[i] ?? NaN, 3)}`];
      svg.append(explained(s("circle", { class: `dot c${k % 6}`, cx: x(at), cy: y(one.value[i]), r: 4 }), () => lines.map(shown)));
    });
    const column = Math.max(1, Math.floor(width / 180));
    const [lx, ly] = [left + (k % column) * 180, bottom + 56 + 18 * Math.floor(k / column)];
    svg.append(s("line", { class: `line c${k % 6}${k > 5 ? " dashed" : ""}`, x1: lx, x2: lx + 18, y1: ly, y2: ly }));
    svg.append(s("text", { class: "who", x: lx + 24, y: ly, "dominant-baseline": "central" }, names[k]));
  });
  return svg;
}
