import { s } from "../dom";
import { quantile } from "../statistics";
import { explained, spoken } from "../tooltip";
import { shown } from "../text";
import { extent, group, labelled, scale, xAxis } from "./axes";

export interface SpreadRow {
  name: string;
  href: string;
  values: number[];
  best: string;
  lines: string[];
}

/** Per row the middle 80 % and 50 %, the median, and every value as a faint tick; who is best at the right. */
export function spread(rows: SpreadRow[], width: number, axis: string, label: string): SVGSVGElement {
  const row = rows.length > 40 ? 18 : 26;
  const top = 44;
  const names = Math.min(230, width * 0.28);
  const right = width > 560 ? 150 : 12;
  const height = top + rows.length * row + 8;
  const svg = group(width, height, label);
  const x = scale(extent(...rows.map((one) => one.values)), [names + 12, width - right - 10]);
  svg.append(xAxis(x, top, height - 6, axis, true));
  if (right > 20) svg.append(s("text", { class: "label", x: width - right, y: top - 26 }, "best"));
  const own = labelled(rows.map((one) => one.name), names - 4);
  const best = labelled(rows.map((one) => one.best), right - 4);
  rows.forEach((one, i) => {
    const y = top + i * row + row / 2;
    const q = [0.1, 0.25, 0.5, 0.75, 0.9].map((share) => x(quantile(one.values, share)));
    const ticks = one.values.filter(Number.isFinite).map((value) => `M${x(value).toFixed(1)} ${y - 5}v10`);
    const mark = s(
      "a",
      { href: one.href, class: "row", ...spoken(one.lines, one.name) },
      s("rect", { class: "hit", x: 0, y: y - row / 2, width, height: row, rx: 4 }),
      s("text", { class: "who", x: names, y, "text-anchor": "end", "dominant-baseline": "central" }, own[i]),
      s("path", { class: "ticks c0", d: ticks.join("") }),
      s("line", { class: "thin c0", x1: q[0], x2: q[4], y1: y, y2: y }),
      s("line", { class: "thick c0", x1: q[1], x2: q[3], y1: y, y2: y }),
      s("circle", { class: "dot paper", cx: q[2], cy: y, r: 3.5 }),
      right > 20 ? s("text", { class: "figure", x: width - right, y, "dominant-baseline": "central" }, best[i]) : null,
    );
    svg.append(explained(mark, () => one.lines.map(shown)));
  });
  return svg;
}
