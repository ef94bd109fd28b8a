import { extent, widthOf } from "../charts/axes";
import { bands } from "../charts/bands";
import { cloud } from "../charts/cloud";
import { forest } from "../charts/forest";
import { h } from "../dom";
import { figure, type Plot } from "../figure";
import type { Numbers, Picture } from "../model";
import { remember, to } from "../route";
import { type Column, type TableOptions, WindowedTable } from "../table";
import { briefLabels, interval, number, pValue, shown } from "../text";
import { choice, heading, type Page, type View } from "../view";
import { shownSamples } from "./deciding";

export const experiments: Page = (view) => gallery(view, "experiments", "Experiments", "Experiment");
export const comparisons: Page = (view) => gallery(view, "comparisons", "Results", "Result");

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
    one.rows.length ? numbers({ ...one, title: `Numbers of ${one.title}` }, { sort: view.query["sort"], onSort: (key) => remember({ sort: key }) }) : h("span"),
    ...(one.more ?? []).filter((table) => table.rows.length).map((table) => numbers(table, {})),
  ];
}

function picture(one: Picture): HTMLElement {
  return figure({ title: one.title, note: one.note, draw: (width) => (one.points ? scattered(one, width) : { svg: one.kind === "lines" ? bands(one, width) : dots(one, width) }) });
}

/** One dot per point, between 0 and 1 or as far as they reach. */
function scattered(one: Picture, width: number): Plot {
  const { name, x, y } = one.points!;
  const [low, high] = extent(x, y);
  const ends: [number, number] = [Math.min(0, low), Math.max(1, high)];
  return cloud(width, {
    label: `${one.y} against ${one.x}`,
    xLabel: one.x,
    yLabel: one.y,
    x,
    y,
    domain: [ends, ends],
    diagonal: ends,
    height: Math.min(520, Math.max(320, width * 0.9)),
    lines: (at) => [shown(name[at]), `${one.x} ${number(x[at], 3)}`, `${one.y} ${number(y[at], 3)}`],
  });
}

function dots(one: Picture, width: number): SVGSVGElement {
  const group = one.group ?? 1;
  const rows = one.series.map((series, i) => ({
    name: i % group ? "" : series.name,
    value: series.value[0],
    low: series.low[0] ?? NaN,
    high: series.high[0] ?? NaN,
    lines: [series.of ? `${series.name}: ${series.of}` : series.name, `${one.y} ${interval(series.value[0], series.low[0] ?? NaN, series.high[0] ?? NaN, 3)}`],
    right: number(series.value[0], 3),
    series: i % group,
  }));
  return forest(rows, width, { label: one.title, axis: one.y, zero: one.zero, rightLabel: " ", ...(one.group ? { group, rowHeight: 17 } : {}) });
}

const [TEXT, LEAST, MOST_TEXT] = [21, 84, 240]; // pixels: padding of a cell, a further column, and the widest of text
const P_VALUES = new Set(["p", "p (Holm)", "p_value", "holm_p"]);

function numbers(one: Numbers, order: Pick<TableOptions, "sort" | "onSort">): HTMLElement {
  const beside = new Set(Object.values(one.ends ?? {}).flat());
  const columns = one.columns.flatMap((key, c) => (beside.has(key) ? [] : [column(one, key, c)]));
  return new WindowedTable({ title: one.title, note: one.note, columns, rows: one.rows.map((_, r) => r), ...order }).element;
}

/** A column as wide as its text, with the interval of its numbers where they have one. */
function column(one: Numbers, key: string, c: number): Column {
  const numeric = one.rows.some((row) => typeof row[c] === "number");
  const ends = (one.ends?.[key] ?? []).map((name) => one.columns.indexOf(name));
  const texts = c && !numeric ? one.rows.map((row) => TEXT + widthOf(String(row[c] ?? ""), "14px")) : [];
  return {
    key,
    label: ends.length ? `${key} (95\u00a0% CI)` : key,
    width: c ? texts.reduce((widest, width) => Math.min(MOST_TEXT, Math.max(widest, width)), LEAST) : 170,
    numeric,
    value: (r) => one.rows[r][c],
    show: (r) => {
      const value = one.rows[r][c];
      if (typeof value !== "number") return shown(value ?? "");
      if (ends.length) return interval(value, Number(one.rows[r][ends[0]] ?? NaN), Number(one.rows[r][ends[1]] ?? NaN), 3);
      return P_VALUES.has(key) ? pValue(value) : Number.isInteger(value) ? String(value) : number(value, 3);
    },
    more: ends.map((end) => [one.columns[end], (r) => one.rows[r][end]]),
  };
}
