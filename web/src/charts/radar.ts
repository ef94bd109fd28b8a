import { s } from "../dom";
import { explained } from "../tooltip";
import { shown } from "../text";
import { drawing, labelled, widthOf } from "./axes";

export interface Spoke {
  name: string;
  lines: string[];
  values: number[]; // one per series, 0 to 1
}

/** Values from 0 at the centre to 1 at the rim, one polygon per series. */
export function radar(spokes: Spoke[], series: string[], width: number, label: string): SVGSVGElement {
  const size = Math.min(width, 440);
  const height = size * 0.86 + 26;
  const room = Math.min(spokes.length > 12 ? 80 : 110, width / 2 - 70);
  const own = labelled(spokes.map((spoke) => spoke.name), room);
  const longest = Math.max(...own.map((spoke) => Math.min(room, widthOf(spoke))));
  const [cx, cy, r] = [width / 2, height / 2 + 8, Math.max(40, Math.min(width / 2 - 24 - longest, height / 2 - 40))];
  const svg = drawing(width, height, label);
  const at = (k: number, value: number): [number, number] => {
    const angle = (2 * Math.PI * k) / spokes.length - Math.PI / 2;
    return [cx + r * value * Math.cos(angle), cy + r * value * Math.sin(angle)];
  };
  const ring = (value: number) => spokes.map((_, k) => at(k, value).join(",")).join(" ");
  for (const value of [0.25, 0.5, 0.75, 1]) svg.append(s("polygon", { class: "grid hollow", points: ring(value) }));
  for (const value of [0.5, 1]) svg.append(s("text", { class: "tick", x: cx - 4, y: cy - r * value + 12, "text-anchor": "end" }, value === 1 ? "1" : ".5"));
  series.forEach((_, n) => {
    const points = spokes.map((spoke, k) => at(k, Number.isFinite(spoke.values[n]) ? spoke.values[n] : 0).join(",")).join(" ");
    svg.append(s("polygon", { class: `area c${n}${n ? " dashed" : ""}`, points }));
  });
  spokes.forEach((spoke, k) => {
    const [x, y] = at(k, 1);
    const [tx, ty] = at(k, 1 + 14 / r);
    const anchor = Math.abs(tx - cx) < 8 ? "middle" : tx > cx ? "start" : "end";
    const mark = s(
      "g",
      { class: "row" },
      s("line", { class: "grid", x1: cx, y1: cy, x2: x, y2: y }),
      s("text", { class: "who", x: tx, y: ty, "text-anchor": anchor, "dominant-baseline": "central" }, own[k]),
      ...spoke.values.map((value, n) => {
        const [px, py] = at(k, Number.isFinite(value) ? value : 0);
        return s("circle", { class: `dot c${n}`, cx: px, cy: py, r: 3.5 });
      }),
    );
    svg.append(explained(mark, () => spoke.lines.map(shown)));
  });
  return svg;
}
