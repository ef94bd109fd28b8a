import { widthOf } from "./charts/axes";
import { type Cell, csv, latex, markdown } from "./csv";
import { h, whileShown, whileSized } from "./dom";
import { save } from "./save";
import { copy, menu } from "./share";
import { count, fileName } from "./text";

export interface Column {
  key: string;
  label: string;
  about?: string;
  width: number; // in pixels, at least; the first column takes what is left
  numeric?: boolean;
  minor?: boolean; // left out on a phone
  digits?: number; // decimals that are known, where the page stores no more
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
  tools?: Node[];
}

const ROW = 36; // pixels, as in the style sheet
const ON_PAPER = 60; // rows
const MEASURED = 120; // rows whose numbers decide how wide a column is
const COPIED = 1000; // rows of a copied table; CSV has all
const [PADDING, ARROW] = [21, 18]; // pixels
const [NAME, TIGHTER] = [100, 10]; // pixels on a phone: of the first column, and less padding of each other, as in the style sheet
const LAST = 8; // pixels of padding that the last column has more

/** A table of any length: only the rows in sight exist. Sorts by its header, copies and saves itself. */
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
    const widths = options.columns.map((column, i) => this.widthOf(column) + (i === options.columns.length - 1 ? LAST : 0));
    const wide = widths.reduce((total, one) => total + one, 0);
    const narrow = NAME + options.columns.reduce((total, column, i) => total + (i && !column.minor ? widths[i] - TIGHTER : 0), 0);
    this.table = h(
      "table",
      { style: { "--wide": `${wide}px`, "--narrow": `${narrow}px` } },
      h("caption", { class: "unseen" }, options.title),
      h("colgroup", {}, ...options.columns.map((column, i) => h("col", { class: column.minor ? "minor" : null, ...(i ? { style: { "--w": `${widths[i]}px` } } : {}) }))),
      h("thead", {}, h("tr", {}, ...options.columns.map((column) => this.header(column)))),
      this.body,
    );
    this.scroller = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": options.title, onscroll: () => this.draw() }, this.table);
    if (!options.whole) this.scroller.style.maxHeight = `${options.height ?? 540}px`;
    this.element = h(
      "section",
      { class: options.whole ? "card table whole" : "card table" },
      h("header", { class: "bar" }, h("h2", {}, options.title), this.said, h("span", { class: "tools" }, ...(options.tools ?? []), ...this.tools())),
      options.note ? h("p", { class: "quiet note" }, options.note) : null,
      this.scroller,
    );
    this.order();
    requestAnimationFrame(() => this.draw());
    whileSized(this.scroller, () => this.draw());
    whileShown("beforeprint", () => this.print());
    whileShown("afterprint", () => {
      this.printing = false;
      this.draw(true);
    });
  }

  /** Other rows under the same columns and order. */
  show(rows: number[]): void {
    this.rows = rows;
    this.order();
    this.scroller.scrollTop = 0;
    this.draw(true);
  }

  /** The same rows, whose cells have changed. */
  refresh(): void {
    this.draw(true);
  }

  /** Wide enough for the header with its arrow, and for the numbers. */
  private widthOf(column: Column): number {
    const header = PADDING + ARROW + widthOf(column.label, HEADER);
    if (!column.numeric) return Math.max(column.width, header);
    const { rows } = this.options;
    const step = Math.max(1, Math.floor(rows.length / MEASURED));
    let [longest, negative] = ["", false];
    for (let i = 0; i < rows.length; i += step) {
      const text = this.text(column, rows[i]);
      if (text.length > longest.length) longest = text;
      negative ||= /−| to /.test(text);
    }
    return Math.ceil(Math.max(column.width, header, PADDING + widthOf(widest(longest, negative), CELL)));
  }

  private tools(): Node[] {
    const { title } = this.options;
    const saving = h("button", { class: "small", type: "button", "aria-label": `Save table as CSV: ${title}`, onclick: () => save(this.csv(), "text/csv;charset=utf-8", fileName(title, "csv")) }, "CSV");
    const item = (label: string, made: () => string) => ({ label, about: `Copy table as ${label}: ${title}`, act: () => void this.copied(label, made()) });
    const as = (format: typeof markdown) => () => {
      const { columns } = this.options;
      const rows = this.rows.slice(0, COPIED).map((row) => columns.map((column) => this.text(column, row)));
      return format(columns.map((column) => column.label), rows, columns.map((column) => column.numeric ?? false));
    };
    return [menu("Copy", `Copy table: ${title}`, [item("Markdown", as(markdown)), item("LaTeX", as(latex)), item("CSV", () => this.csv().slice(1))]), saving];
  }

  private async copied(format: string, text: string): Promise<void> {
    const cut = format !== "CSV" && this.rows.length > COPIED ? `, first ${count(COPIED)} rows` : "";
    this.said.textContent = (await copy(text)) ? `Copied as ${format}${cut}` : "The browser does not allow copying";
    setTimeout(() => this.counted(), 2500);
  }

  private text(column: Column, row: number): string {
    const shown = column.show ? column.show(row) : String(column.value(row) ?? "");
    return typeof shown === "string" ? shown : (shown.textContent ?? "");
  }

  /** For paper: the first rows all there. */
  private print(): void {
    this.printing = true;
    this.body.replaceChildren(...this.rows.slice(0, ON_PAPER).map((row, i) => this.line(row, i)));
    this.drawn = "";
  }

  private header(column: Column): HTMLElement {
    const button = h("button", { type: "button", title: column.about ?? "", onclick: () => this.sortBy(column) }, column.label);
    return h("th", { scope: "col", class: classOf(column), "data-key": column.key }, button);
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
    this.counted();
  }

  private counted(): void {
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
      return h(i ? "td" : "th", { class: classOf(column), scope: i ? null : "row" }, shown);
    });
    return h("tr", { "aria-rowindex": place + 2, class: row === this.options.current ? "current" : "" }, ...cells);
  }

  private csv(): string {
    const columns = this.options.columns.flatMap((column) => {
      const all: [string, (row: number) => Cell][] = [[column.key, column.value], ...(column.more ?? [])];
      return all.map(([key, value]) => [key, known(value, column.digits)] as const);
    });
    const rows = this.rows.map((row) => columns.map(([, value]) => value(row)));
    return csv(columns.map(([key]) => key), rows);
  }
}

const [HEADER, CELL] = ["600 13px", "14px"]; // as in the style sheet

/** A text as wide as any of its kind: digits of full width, and a minus before each number if there are any. */
function widest(text: string, negative: boolean): string {
  const full = text.replaceAll(/\d/g, "0");
  return negative ? full.replaceAll(/(^|[ (])(?=0)/g, "$1−") : full;
}

function classOf(column: Column): string {
  return [column.numeric ? "numeric" : "", column.minor ? "minor" : ""].filter(Boolean).join(" ");
}

/** Numbers with the decimals that are known. */
function known(value: (row: number) => Cell, digits: number | undefined): (row: number) => Cell {
  if (digits === undefined) return value;
  return (row) => {
    const exact = value(row);
    return typeof exact === "number" && Number.isFinite(exact) ? Number(exact.toFixed(digits)) : exact;
  };
}

function spacer(rows: number): HTMLElement {
  return h("tr", { "aria-hidden": "true", class: "spacer", style: { height: `${rows * ROW}px` } });
}

const ORDER = new Intl.Collator("en", { numeric: true }); // made once: making it is most of a comparison's time
const DIGITS = 12; // that numbers in names are filled up to

/** Stable; what is missing comes last in either direction. */
export function sorted(rows: number[], value: (row: number) => Cell, falling: boolean): number[] {
  const sign = falling ? -1 : 1;
  const values = rows.map(value);
  if (values.every((one) => typeof one === "number" || one === null)) return byNumber(rows, values, sign);
  const keys = spelled(values);
  const compare = typeof keys[0] === "string" && keys.every(plain) ? (x: Cell, y: Cell) => (x! < y! ? -1 : x! > y! ? 1 : 0) : byCollation;
  const places = keys.map((_, at) => at);
  places.sort((a, b) => {
    const [x, y] = [keys[a], keys[b]];
    const [noX, noY] = [absent(x), absent(y)];
    if (noX || noY) return Number(noX) - Number(noY);
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : compare(x, y));
  });
  return places.map((at) => rows[at]);
}

function byNumber(rows: number[], values: (number | null)[], sign: number): number[] {
  const keys = Float64Array.from(values, (one) => sign * (one ?? NaN));
  const known = rows.map((_, at) => at).filter((at) => !Number.isNaN(keys[at]));
  const rest = rows.filter((_, at) => Number.isNaN(keys[at]));
  return [...known.sort((a, b) => keys[a] - keys[b]).map((at) => rows[at]), ...rest];
}

const byCollation = (x: Cell, y: Cell) => ORDER.compare(String(x), String(y));
const plain = (key: Cell) => typeof key !== "string" || !/[^\x20-\x7e]/.test(key);

/** Plain names in small letters with their numbers filled up, so that they order without a collator, ten times as fast. */
function spelled(keys: Cell[]): Cell[] {
  if (!keys.every(plain)) return keys;
  return keys.map((key) => (typeof key === "string" ? key.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(DIGITS, "0")) : key));
}

function absent(value: Cell): boolean {
  return value === null || value === undefined || (typeof value === "number" && Number.isNaN(value));
}
