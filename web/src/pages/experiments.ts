import { bands } from "../charts/bands";
import { forest } from "../charts/forest";
import { h } from "../dom";
import { figure } from "../figure";
import type { Experiment, Picture } from "../model";
import { remember, to } from "../route";
import { WindowedTable } from "../table";
import { briefLabels, interval, number, shown } from "../text";
import { choice, heading, type Page, type View } from "../view";
import { shownSamples } from "./deciding";

export const experiments: Page = (view) => gallery(view, "experiments", "Experiments", "Experiment");
export const comparisons: Page = (view) => gallery(view, "comparisons", "Without a model", "Result");

function gallery(view: View, key: "experiments" | "comparisons", title: string, kind: string): Node[] {
  const all = view.report[key];
  const at = Math.max(0, Math.min(all.length - 1, Number(view.query["e"] ?? 0) || 0));
  const one = all[at];
  return [
    heading(title, one.words.map(shown).join(" ")),
    all.length > 1
      ? h("div", { class: "controls" }, choice(kind, briefLabels(all.map((each) => each.title), 60).map((label, i): [string, string] => [String(i), label]), String(at), (value) => (location.hash = to(key, { e: value }))))
      : h("span"),
    h("div", { class: one.pictures.length > 1 ? "columns even" : "stack" }, ...one.pictures.map(picture)),
    ...[shownSamples(one)].filter((each) => each !== null),
    one.rows.length ? numbers(one, view.query["sort"]) : h("span"),
  ];
}

function picture(one: Picture): HTMLElement {
  return figure({ title: one.title, note: one.note, draw: (width) => ({ svg: one.kind === "lines" ? bands(one, width) : dots(one, width) }) });
}

function dots(one: Picture, width: number): SVGSVGElement {
  const rows = one.series.map((series) => ({
    name: series.name,
    value: series.value[0],
    low: series.low[0] ?? NaN,
    high: series.high[0] ?? NaN,
    lines: [series.name, `${one.y} ${interval(series.value[0], series.low[0] ?? NaN, series.high[0] ?? NaN, 3)}`],
    right: number(series.value[0], 3),
  }));
  return forest(rows, width, { label: one.title, axis: one.y, zero: one.zero, rightLabel: " " });
}

function numbers(one: Experiment, sort: string | undefined): HTMLElement {
  const columns = one.columns.map((key, c) => ({
    key,
    label: key,
    width: c ? 120 : 170,
    numeric: one.rows.some((row) => typeof row[c] === "number"),
    value: (r: number) => one.rows[r][c],
    show: (r: number) => {
      const value = one.rows[r][c];
      return typeof value === "number" ? (Number.isInteger(value) ? String(value) : number(value, 3)) : shown(value ?? "");
    },
  }));
  return new WindowedTable({ title: `Numbers of ${one.title}`, columns, rows: one.rows.map((_, r) => r), sort, onSort: (key) => remember({ sort: key }) }).element;
}
