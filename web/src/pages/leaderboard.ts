import { forest } from "../charts/forest";
import { cloud } from "../charts/cloud";
import { extent, widthOf } from "../charts/axes";
import { h } from "../dom";
import { figure } from "../figure";
import { changed, remember } from "../route";
import { mean } from "../statistics";
import { type Column, WindowedTable } from "../table";
import { count, interval, number, percent, shown } from "../text";
import { choice, type Families, familiesOf, heading, nameOptions, type Page, type View } from "../view";

const SIZES = [10, 25, 50, 100];
const FIRST = 25;
const MOST = 400; // rows of the chart
const MOST_TICKED = 6;

/** Ability and accuracy of every learner on the whole or on one skill. */
interface Level {
  ability: ArrayLike<number>;
  low: ArrayLike<number>;
  high: ArrayLike<number>;
  accuracy: ArrayLike<number>;
  accuracyLow: ArrayLike<number>;
  accuracyHigh: ArrayLike<number>;
}

export function levelOn(view: View, skill: number): Level {
  const { learners: l, skills: s } = view.of;
  if (skill < 0) return { ability: l.ability, low: l.low, high: l.high, accuracy: l.accuracy, accuracyLow: l.accuracy_low, accuracyHigh: l.accuracy_high };
  const k = s.name.length;
  const take = (matrix: Float32Array) => l.name.map((_, i) => matrix[i * k + skill]);
  return { ability: take(s.ability), low: take(s.low), high: take(s.high), accuracy: take(s.accuracy), accuracyLow: take(s.accuracy_low), accuracyHigh: take(s.accuracy_high) };
}

/** What is ranked, and what the reader wants to see of it. */
class Board {
  readonly skill: number;
  readonly level: Level;
  readonly order: number[];
  readonly families: Families | null;
  readonly ticked: Set<number>;
  top: number;
  text: string;
  coloured: boolean;

  constructor(readonly view: View) {
    const { learners, skills, attributes } = view.of;
    const q = view.query;
    this.skill = view.hasSkills ? skills.name.indexOf(q["skill"] ?? "") : -1;
    this.level = levelOn(view, this.skill);
    this.order = learners.name.map((_, i) => i).sort((a, b) => (this.skill < 0 ? a - b : this.level.ability[b] - this.level.ability[a]));
    this.families = familiesOf(learners.name, attributes.family);
    this.top = q["top"] === "all" ? MOST : Number(q["top"]) || FIRST;
    this.text = q["q"] ?? "";
    this.coloured = q["colour"] === "family" || (q["colour"] === undefined && attributes.family !== null);
    this.ticked = new Set(names(q["ticked"]).map((name) => learners.name.indexOf(name)).filter((i) => i >= 0));
  }

  get what(): string {
    return this.skill < 0 ? "overall" : `on ${shown(this.view.of.skills.name[this.skill])}`;
  }

  get ties(): number[][] {
    return this.skill < 0 && !this.text ? this.view.of.learners.ties : [];
  }

  /** The learners in sight: the first ones, or those whose name has the text. */
  rows(): number[] {
    const wanted = this.text.toLowerCase();
    const found = wanted ? this.order.filter((i) => this.view.of.learners.name[i].toLowerCase().includes(wanted)) : this.order;
    return found.slice(0, this.top);
  }

  tick(i: number, ticked: boolean): void {
    if (ticked) this.ticked.add(i);
    else this.ticked.delete(i);
    remember({ ticked: this.ticked.size ? JSON.stringify(this.tickedNames()) : null });
  }

  tickedNames(): string[] {
    return [...this.ticked].map((i) => this.view.of.learners.name[i]);
  }

  /** Decimals of an ability: shares need one more than standard deviations. */
  get digits(): number {
    return this.view.of.unit ? 3 : 2;
  }

  ability(i: number): string {
    const { ability, low, high } = this.level;
    return interval(ability[i], low[i], high[i], this.digits);
  }

  series(i: number): number {
    return this.coloured && this.families ? this.families.of[i] : 0;
  }
}

function names(text: string | undefined): string[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.map(String) : [];
  } catch {
    return [];
  }
}

export const leaderboard: Page = (view) => {
  const board = new Board(view);
  const compared = compareLink(board);
  const legend = h("ul", { class: "legend" });
  const chart = intervals(board, () => compared.update());
  const table = rows(board);
  const update = () => {
    chart.redraw();
    legend.replaceChildren(...legendOf(board));
  };
  legend.replaceChildren(...legendOf(board));
  return [heading("Leaderboard", leadOf(view, board.skill)), controls(board, update, compared.element), legend, chart, table, against(board)];
};

function leadOf(view: View, skill: number): string {
  if (skill >= 0) return "Ability on one skill, with plain accuracy on its samples. Overlapping intervals mean that the order is uncertain.";
  if (!view.of.learners.rank_low) return "Ability with its 95 % interval, and plain accuracy.";
  const tied = view.of.learners.with_first.length - 1;
  const of = view.of.like_these ? " on samples like these" : "";
  const rest = `“Rank may be” holds for all learners at once with 95 % confidence${of}.`;
  if (tied) return `${count(tied)} ${tied === 1 ? "learner" : "learners"} cannot be told apart from the first. ${rest}`;
  return `The first learner is told apart from every other one. ${rest}`;
}

function controls(board: Board, update: () => void, compared: HTMLElement): HTMLElement {
  const { view } = board;
  const { skills, learners } = view.of;
  const n = learners.name.length;
  const sizes = SIZES.filter((size) => size < n).map((size): [string, string] => [String(size), `first ${size}`]);
  const all: [string, string] = ["all", n > MOST ? `first ${MOST}` : `all ${count(n)}`];
  const search = h("input", {
    type: "search", value: board.text, placeholder: "part of a name",
    oninput: (event: Event) => {
      board.text = (event.target as HTMLInputElement).value;
      remember({ q: board.text });
      update();
    },
  });
  const show = (value: string) => {
    board.top = value === "all" ? MOST : Number(value);
    remember({ top: value });
    update();
  };
  const paint = (value: string) => {
    board.coloured = value === "family";
    remember({ colour: value });
    update();
  };
  return h(
    "div",
    { class: "controls" },
    view.hasSkills
      ? choice("Rank by", [["", "all skills"], ...nameOptions(skills.name)], board.skill < 0 ? "" : skills.name[board.skill], (value) => (location.hash = changed({ skill: value })))
      : null,
    sizes.length ? choice("Show", [...sizes, all], board.top >= Math.min(n, MOST) ? "all" : String(board.top), show) : null,
    n > SIZES[0] ? h("label", { class: "choice" }, h("span", {}, "Find"), search) : null,
    board.families ? choice("Colour", [["none", "one colour"], ["family", view.of.attributes.family ? "by family" : "by first word of the name"]], board.coloured ? "family" : "none", paint) : null,
    compared,
  );
}

/** A link that opens the ticked learners side by side. */
function compareLink(board: Board): { element: HTMLElement; update: () => void } {
  const element = h("a", { class: "button" });
  const update = () => {
    const chosen = board.tickedNames().slice(0, MOST_TICKED);
    element.textContent = chosen.length < 2 ? "Tick two or more to compare" : `Compare the ${chosen.length} ticked →`;
    element.toggleAttribute("aria-disabled", chosen.length < 2);
    if (chosen.length < 2) element.removeAttribute("href");
    else element.setAttribute("href", board.view.to("compare", { learners: JSON.stringify(chosen) }));
  };
  update();
  return { element, update };
}

function legendOf(board: Board): HTMLElement[] {
  if (!board.coloured || !board.families) return [];
  return board.families.names.map((name, at) => h("li", {}, h("span", { class: `swatch c${at}`, "aria-hidden": "true" }), shown(name)));
}

function intervals(board: Board, ticked: () => void): HTMLElement & { redraw: () => void } {
  const { view, level } = board;
  const { learners } = view.of;
  const figures = (i: number, wide: boolean) => (wide ? board.ability(i) : number(level.ability[i], board.digits));
  return figure({
    title: `Abilities ${board.what}`,
    wide: true,
    note: `Dots are abilities, lines 95 % intervals.${board.skill < 0 && learners.ties.length ? " Bars at the left join learners that cannot be told apart; shaded: those tied with the first." : ""} Tick learners to compare them.`,
    draw: (width) => {
      const rows = board.rows();
      if (!rows.length) return { svg: forest([], width, { label: "No learner has this name", axis: "" }) };
      return {
        svg: forest(
          rows.map((i) => ({
            name: learners.name[i],
            href: view.learner(i),
            value: level.ability[i],
            low: level.low[i],
            high: level.high[i],
            series: board.series(i),
            right: figures(i, width > 620),
            ticked: board.ticked.has(i),
            lines: [learners.name[i], `ability ${board.ability(i)}`, `${view.plain} ${percent(level.accuracy[i])} (${percent(level.accuracyLow[i])} to ${percent(level.accuracyHigh[i])})`],
          })),
          width,
          {
            label: `Abilities ${board.what} with 95 % intervals`, axis: view.of.unit ? "ability" : "ability (sd)", ties: board.ties, banded: true, rowHeight: 22,
            rightLabel: width > 620 ? "ability (95 % interval)" : "ability",
            onTick: (row, on) => {
              board.tick(rows[row], on);
              ticked();
            },
          },
        ),
      };
    },
  });
}

function rows(board: Board): HTMLElement {
  const { view, level, order } = board;
  const { learners, skills, attributes } = view.of;
  const rank = new Map(order.map((i, place) => [i, board.skill < 0 ? learners.rank[i] : place + 1]));
  const ties = board.skill < 0 && learners.rank_low !== null;
  const k = skills.name.length;
  const macro = board.skill < 0 && view.hasSkills && skills.count ? learners.name.map((_, i) => mean(skills.name.map((_, one) => skills.accuracy[i * k + one]))) : null;
  const columns: Column[] = [
    { key: "learner", label: "Learner", width: Math.min(270, 40 + 1.12 * Math.max(...learners.name.map((one) => widthOf(one)))), value: (i) => learners.name[i], show: (i) => view.learnerLink(i) },
    { key: "rank", label: "Rank", width: 60, numeric: true, value: (i) => rank.get(i)!, show: (i) => String(rank.get(i)!) },
    { key: "ability", label: "Ability", width: 80, numeric: true, value: (i) => level.ability[i], show: (i) => number(level.ability[i], board.digits), more: [["low", (i) => level.low[i]], ["high", (i) => level.high[i]]] },
    { key: "interval", label: "95 % interval", width: 120, minor: true, numeric: true, value: (i) => level.low[i], show: (i) => (Number.isFinite(level.low[i]) ? `${number(level.low[i], board.digits)} to ${number(level.high[i], board.digits)}` : "") },
    {
      key: "accuracy", label: view.of.binary ? "Accuracy" : "Mean", about: "Every response counts the same (micro average), no model", width: 90, numeric: true,
      value: (i) => level.accuracy[i], show: (i) => percent(level.accuracy[i]),
      more: [["accuracy_low", (i) => level.accuracyLow[i]], ["accuracy_high", (i) => level.accuracyHigh[i]]],
    },
    ...(ties
      ? [{
          key: "rank_low", label: "Rank may be", about: "Ranks that the tests of all pairs leave open, for all learners at once at 95 %", width: 100, numeric: true, minor: true,
          value: (i: number) => learners.rank_low![i],
          show: (i: number) => (learners.rank_low![i] === learners.rank_high![i] ? String(learners.rank_low![i]) : `${learners.rank_low![i]}–${learners.rank_high![i]}`),
          more: [["rank_high", (i: number) => learners.rank_high![i]] as [string, (i: number) => number]],
        }]
      : []),
    ...(macro ? [{ key: "macro", label: "Mean over skills", about: "Every skill counts the same (macro average), no model", width: 120, numeric: true, minor: true, digits: 4, value: (i: number) => macro[i], show: (i: number) => percent(macro[i]) }] : []),
    ...attributes.numbers.map((one): Column => ({ key: one.name, label: one.name, width: 80, numeric: true, minor: true, value: (i) => one.value[i], show: (i) => number(one.value[i], 4).replace(/\.?0+$/, "") })),
    { key: "responses", label: "Responses", width: 90, numeric: true, minor: true, value: (i) => Math.round(learners.n[i]), show: (i) => count(Math.round(learners.n[i])) },
  ];
  return new WindowedTable({
    title: `Learners ${board.what}`,
    columns,
    rows: order,
    sort: view.query["sort"] ?? "rank",
    height: 500,
    onSort: (sort) => remember({ sort }),
  }).element;
}

function against(board: Board): HTMLElement {
  const { view, level } = board;
  return figure({
    title: `Ability against plain ${view.plain}, ${board.what}`,
    wide: true,
    note: "Where accuracy and the diagnosis disagree, points are off the common line.",
    draw: (width) =>
      cloud(width, {
        label: `Ability against ${view.plain} of every learner`,
        xLabel: view.plain,
        yLabel: "ability",
        x: Array.from(level.accuracy),
        y: Array.from(level.ability),
        domain: [extent(level.accuracy), extent(level.ability)],
        height: Math.min(420, Math.max(320, width * 0.5)),
        lines: (i) => [
          shown(view.of.learners.name[i]),
          `ability ${board.ability(i)}`,
          `${view.plain} ${percent(level.accuracy[i])} (${percent(level.accuracyLow[i])} to ${percent(level.accuracyHigh[i])})`,
        ],
        open: (i) => {
          location.hash = view.learner(i);
        },
      }),
  });
}
