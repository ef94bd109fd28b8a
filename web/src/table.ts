import { type Cell, csv } from "./csv";
import { h } from "./dom";
import { save } from "./save";
import { count, fileName } from "./text";

export interface Column {
  key: string;
  label: string;
  about?: string;
  width: number; // in pixels; the first column takes what is left
  numeric?: boolean;
  value: (row: number) => Cell; // what is sorted and exported
  show?: (row: number) => Node | string;
  more?: [string, (row: number) => Cell][]; // further columns of the CSV, such as the ends of an interval
}

export interface TableOptions {
  title: string;
  columns: Column[];
  rows: number[];
  sort?: string; // a key, with "-" before it for descending
  height?: number;
  current?: number;
  onSort?: (sort: string) => void;
  note?: string;
  whole?: boolean; // every row exists, and long text wraps
}

const ROW = 36; // pixels, as in the style sheet
const ON_PAPER = 60; // rows

/** A table of any length: only the rows in sight exist. Sorts by its header, saves itself as CSV. */
export class WindowedTable {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private printing = false;
  private readonly scroller: HTMLElement;
  private readonly said = h("p", { class: "quiet", role: "status" });
  private readonly table: HTMLTableElement;
  private rows: number[];
  private sort: string;
  private drawn = "";

  constructor(private readonly options: TableOptions) {
    this.rows = options.rows;
    this.sort = options.sort ?? "";
    const width = options.columns.reduce((sum, column) => sum + column.width, 0);
    this.table = h(
      "table",
      { style: { "min-width": `${width}px` } },
      h("caption", { class: "unseen" }, options.title),
      h("colgroup", {}, ...options.columns.map((column, i) => h("col", i ? { style: { width: `${column.width}px` } } : {}))),
      h("thead", {}, h("tr", {}, ...options.columns.map((column) => this.header(column)))),
      this.body,
    );
    this.scroller = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": options.title, onscroll: () => this.draw() }, this.table);
    if (!options.whole) this.scroller.style.maxHeight = `${options.height ?? 540}px`;
    const saveButton = h("button", { class: "small", type: "button", onclick: () => this.saveCsv() }, "CSV");
    saveButton.setAttribute("aria-label", `Save table as CSV: ${options.title}`);
    this.element = h(
      "section",
      { class: options.whole ? "card table whole" : "card table" },
      h("header", { class: "bar" }, h("h2", {}, options.title), this.said, h("span", { class: "tools" }, saveButton)),
      options.note ? h("p", { class: "quiet note" }, options.note) : null,
      this.scroller,
    );
    this.order();
    requestAnimationFrame(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    addEventListener("beforeprint", () => this.scroller.isConnected && this.print());
    addEventListener("afterprint", () => {
      this.printing = false;
      if (this.scroller.isConnected) this.draw(true);
    });
  }

  /** Other rows under the same columns and order. */
  show(rows: number[]): void {
    this.rows = rows;
    this.order();
    this.scroller.scrollTop = 0;
    this.draw(true);
  }

  /** For paper: the first rows all there. */
  private print(): void {
    this.printing = true;
    this.body.replaceChildren(...this.rows.slice(0, ON_PAPER).map((row, i) => this.line(row, i)));
    this.drawn = "";
  }

  private header(column: Column): HTMLElement {
    const button = h("button", { type: "button", title: column.about ?? "", onclick: () => this.sortBy(column) }, column.label);
    return h("th", { scope: "col", class: column.numeric ? "numeric" : "", "data-key": column.key }, button);
  }

  private sortBy(column: Column): void {
    const first = column.numeric ? `-${column.key}` : column.key;
    const second = column.numeric ? column.key : `-${column.key}`;
    this.sort = this.sort === first ? second : first;
    this.order();
    this.draw(true);
    this.options.onSort?.(this.sort);
  }

  private order(): void {
    const falling = this.sort.startsWith("-");
    const column = this.options.columns.find((one) => one.key === this.sort.replace(/^-/, ""));
    if (column) this.rows = sorted([...this.rows].sort((a, b) => a - b), column.value, falling);
    for (const th of this.table.querySelectorAll("th"))
      if (th.dataset["key"] === column?.key) th.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.said.textContent = `${count(this.rows.length)} ${this.rows.length === 1 ? "row" : "rows"}`;
  }

  private draw(anew = false): void {
    if (this.printing) return;
    if (this.options.whole && !anew && this.drawn) return;
    if (this.options.whole) {
      this.drawn = "whole";
      this.body.replaceChildren(...this.rows.map((row, i) => this.line(row, i)));
      return;
    }
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 6);
    const last = Math.min(this.rows.length, first + Math.ceil(this.scroller.clientHeight / ROW) + 14);
    const range = `${first}-${last}`;
    if (!anew && range === this.drawn) return;
    this.drawn = range;
    const lines = this.rows.slice(first, last).map((row, i) => this.line(row, first + i));
    this.body.replaceChildren(spacer(first), ...lines, spacer(this.rows.length - last));
  }

  private line(row: number, place: number): HTMLElement {
    const cells = this.options.columns.map((column, i) => {
      const shown = column.show ? column.show(row) : String(column.value(row) ?? "");
      return h(i ? "td" : "th", { class: column.numeric ? "numeric" : "", scope: i ? null : "row" }, shown);
    });
    return h("tr", { "aria-rowindex": place + 2, class: row === this.options.current ? "current" : "" }, ...cells);
  }

  private saveCsv(): void {
    const columns = this.options.columns.flatMap((column): [string, (row: number) => Cell][] => [[column.key, column.value], ...(column.more ?? [])]);
    const rows = this.rows.map((row) => columns.map(([, value]) => value(row)));
    save(csv(columns.map(([key]) => key), rows), "text/csv;charset=utf-8", fileName(this.options.title, "csv"));
  }
}

function spacer(rows: number): HTMLElement {
  return h("tr", { "aria-hidden": "true", class: "spacer", style: { height: `${rows * ROW}px` } });
}

/** Stable; what is missing comes last in either direction. */
export function sorted(rows: number[], value: (row: number) => Cell, falling: boolean): number[] {
  const sign = falling ? -1 : 1;
  const keys = new Map(rows.map((row) => [row, value(row)]));
  return [...rows].sort((a, b) => {
    const [x, y] = [keys.get(a)!, keys.get(b)!];
    const [noX, noY] = [absent(x), absent(y)];
    if (noX || noY) return Number(noX) - Number(noY);
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    return sign * String(x).localeCompare(String(y), "en", { numeric: true });
  });
}

function absent(value: Cell): boolean {
  return value === null || value === undefined || (typeof value === "number" && Number.isNaN(value));
}
