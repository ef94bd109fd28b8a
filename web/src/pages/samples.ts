import { cloud, type Box } from "../charts/cloud";
import { whatIsHeld } from "../content";
import { h, link, name } from "../dom";
import { figure } from "../figure";
import { flagsOf, skillsOf } from "../model";
import { changed, remember } from "../route";
import { quantile } from "../statistics";
import { type Column, WindowedTable } from "../table";
import { brief, count, interval, number, percent, shown } from "../text";
import { choice, heading, nameOptions, type Page, placeOf, type View } from "../view";
import { sampleDetail } from "./sample";

const LOOKED_THROUGH = 5000; // values that decide how far an axis goes

type Axis = "difficulty" | "discrimination" | "accuracy" | "expected" | "infit" | "outfit";
const AXES: Axis[] = ["difficulty", "discrimination", "accuracy", "expected", "infit", "outfit"];

export const samples: Page = (view) => {
  const { of } = view;
  const open = placeOf(of.samples.name, view.query["sample"]);
  if (open >= 0) return sampleDetail(view, open);
  const filter = new Filter(view);
  const table = sampleTable(view, filter.rows());
  const chart = scatter(view, filter, () => table.show(filter.rows()));
  filter.onchange = () => {
    table.show(filter.rows());
    chart.redraw();
  };
  const part = of.samples.name.length < of.samples.total;
  return [
    heading(
      "Samples",
      part
        ? `This page contains ${count(of.samples.name.length)} of ${count(of.samples.total)} samples: all flagged samples that fit, and the rest spread evenly over accuracy. Every sample is in ${view.report.tables}/samples.parquet beside this page.`
        : "How hard each sample is, how well it separates learners, and which ones to look at.",
    ),
    flagList(view),
    ...suspects(view),
    filter.controls(),
    chart,
    table.element,
  ];
};

/** Which samples are in view: by text, skill, flag and the box drawn in the scatter. */
class Filter {
  onchange = () => {};
  box: Box | null;
  private text: string;
  private skill: string;
  private flag: string;
  readonly x: Axis;
  readonly y: Axis;
  private readonly kept: Uint8Array;
  private small: string[] | null = null; // names and prompts in small letters

  constructor(private readonly view: View) {
    const q = view.query;
    this.kept = new Uint8Array(view.of.samples.name.length);
    this.text = q["q"] ?? "";
    this.skill = q["skill"] ?? "";
    this.flag = q["flag"] ?? "";
    this.x = AXES.find((one) => one === q["x"]) ?? "difficulty";
    this.y = AXES.find((one) => one === q["y"]) ?? "discrimination";
    const box = (q["box"] ?? "").split(",").map(Number);
    this.box = box.length === 4 && box.every(Number.isFinite) ? (box as unknown as Box) : null;
  }

  private wants(j: number): boolean {
    const { samples, skills } = this.view.of;
    if (this.text && !this.found(j)) return false;
    if (this.flag && !samples.flags[this.flag]?.[j]) return false;
    if (this.skill) {
      const k = skills.name.indexOf(this.skill);
      if (k >= 0 && !samples.needs?.[j * skills.name.length + k]) return false;
    }
    if (!this.box) return true;
    const [x, y] = [samples[this.x][j], samples[this.y][j]];
    return x >= this.box[0] && x <= this.box[1] && y >= this.box[2] && y <= this.box[3];
  }

  /** Whether the name of a sample, or its prompt as far as the page lists it, has the text. */
  private found(j: number): boolean {
    const { samples, content } = this.view.of;
    this.small ??= samples.name.map((one, at) => `${one}\n${content?.prompt[at] ?? ""}`.toLowerCase());
    return this.small[j].includes(this.text.toLowerCase());
  }

  /** The samples in view; `keeps` then says of each whether it is. */
  rows(): number[] {
    const out: number[] = [];
    for (let j = 0; j < this.kept.length; j++) {
      this.kept[j] = this.wants(j) ? 1 : 0;
      if (this.kept[j]) out.push(j);
    }
    return out;
  }

  keeps(j: number): boolean {
    return this.kept[j] === 1;
  }

  brush(box: Box | null): void {
    this.box = box;
    remember({ box: box?.map((one) => one.toPrecision(4)).join(",") });
  }

  controls(): HTMLElement {
    const { of } = this.view;
    const set = (key: "text" | "skill" | "flag", name: string) => (value: string) => {
      this[key] = value;
      remember({ [name]: value });
      this.onchange();
    };
    const search = h("input", { type: "search", value: this.text, placeholder: of.content ? "part of a name or prompt" : "part of a name", oninput: (event: Event) => set("text", "q")((event.target as HTMLInputElement).value) });
    const axis = (which: "x" | "y", label: string) =>
      choice(label, AXES.map((one) => [one, one]), this[which], (value) => {
        location.hash = changed({ box: null, [which]: value });
      });
    return h(
      "div",
      { class: "controls" },
      h("label", { class: "choice" }, h("span", {}, "Find"), search),
      of.samples.needs
        ? choice("Skill", [["", "any skill"], ...nameOptions(of.skills.name)], this.skill, set("skill", "skill"))
        : null,
      choice("Flag", [["", "any"], ...Object.keys(of.samples.flags).map((one): [string, string] => [one, WORD[one] ?? one])], this.flag, set("flag", "flag")),
      axis("x", "Across"),
      axis("y", "Up"),
    );
  }
}

export const WORD: Record<string, string> = {
  negative: "negative discrimination",
  "everyone wrong": "nobody solved it",
  "everyone right": "everybody solved it",
};

export function flagChips(view: View, j: number): Node {
  const flags = flagsOf(view.of, j);
  return h("span", {}, ...flags.map((flag) => h("span", { class: `flag${view.of.samples.contradicting.includes(flag) ? " warns" : ""}`, title: view.of.samples.flag_words[flag] ?? "" }, WORD[flag] ?? flag)));
}

function flagList(view: View): HTMLElement {
  const { flag_totals: totals, flag_words: words, not_judged: why, only_ordered: only } = view.of.samples;
  if (why !== null) return h("p", { class: "callout" }, `${why[0].toUpperCase()}${why.slice(1)}`);
  const some = Object.keys(totals).filter((flag) => totals[flag]);
  const ordered = only === null ? null : h("p", { class: "quiet" }, only);
  if (!some.length) return h("div", {}, h("p", { class: "quiet" }, "No sample is flagged."), ordered);
  const chips = h(
    "ul",
    { class: "chips flags" },
    ...some.map((flag) => h("li", { title: words[flag] ?? "" }, link(view.to("samples", { flag, sort: "-evidence" }), `${WORD[flag] ?? flag} · ${count(totals[flag])}`))),
  );
  return h("div", {}, chips, ordered);
}

const LOOKED_AT = 5;

/** The most suspicious samples, why they are, and what learners answered. */
function suspects(view: View): HTMLElement[] {
  const { samples: s, content } = view.of;
  const rows = s.name.map((_, j) => j).filter((j) => s.why[j]);
  rows.sort((i, j) => (s.evidence[j] || -Infinity) - (s.evidence[i] || -Infinity));
  const items = rows.slice(0, LOOKED_AT).map((j) => h("li", {}, link(view.sample(j), name(s.name[j], 60)), ": ", h("bdi", {}, s.why[j])));
  const held = content ? [h("p", { class: "quiet note" }, whatIsHeld(content))] : [];
  return items.length ? [h("section", { class: "card prose" }, h("h2", {}, "Look at these first"), h("ul", {}, ...items), ...held)] : held;
}

function scatter(view: View, filter: Filter, changed: () => void): HTMLElement & { redraw: () => void } {
  const { samples: s } = view.of;
  const [x, y] = [s[filter.x], s[filter.y]];
  const robust = (values: Float32Array): [number, number] => {
    const step = Math.ceil(values.length / LOOKED_THROUGH);
    const some = values.filter((_, j) => j % step === 0);
    const [low, high] = [quantile(some, 0.005), quantile(some, 0.995)];
    return Number.isFinite(low) ? [low, high] : [0, 1];
  };
  const domain: [[number, number], [number, number]] = [robust(x), robust(y)];
  const unsure = filter.x === "difficulty" || filter.y === "difficulty";
  const without = unsure ? s.difficulty.filter((one) => Number.isNaN(one)).length : 0;
  return figure({
    title: `${filter.x[0].toUpperCase()}${filter.x.slice(1)} and ${filter.y}`,
    wide: true,
    note: `Squares are flagged. Drag over the points to choose some, click one to open it; extreme values stick to the edge.${
      without ? ` ${count(without)} samples have no difficulty, because their discrimination is not distinguishable from 0; they are at the right edge.` : ""
    }`,
    draw: (width) =>
      cloud(width, {
        label: `Scatter of ${filter.x} and ${filter.y} of ${count(s.name.length)} samples; the table below has the same numbers`,
        xLabel: filter.x,
        yLabel: filter.y,
        x,
        y,
        domain,
        series: (j) => (s.contradicting.some((flag) => s.flags[flag]?.[j]) ? 1 : 0),
        faded: (j) => !filter.keeps(j),
        lines: (j) => sampleLines(view, j),
        open: (j) => {
          location.hash = view.sample(j);
        },
        lane: filter.x === "difficulty" && without ? "no difficulty" : undefined,
        brush: filter.box,
        onBrush: (box) => {
          filter.brush(box);
          changed();
        },
      }),
  });
}

export function sampleLines(view: View, j: number): string[] {
  const { samples: s, critical: z } = view.of;
  const [b, bse, a, ase] = [s.difficulty[j], s.difficulty_se[j], s.discrimination[j], s.discrimination_se[j]];
  return [
    shown(s.name[j]),
    Number.isFinite(b) ? `difficulty ${interval(b, b - z * bse, b + z * bse)}` : "difficulty not determined",
    Number.isFinite(a) ? `discrimination ${interval(a, a - z * ase, a + z * ase)}` : "",
    `${view.plain} ${percent(s.accuracy[j])} of ${count(s.n[j])}`,
    ...flagsOf(view.of, j).map((flag) => WORD[flag] ?? flag),
  ].filter(Boolean);
}

function sampleTable(view: View, rows: number[]): WindowedTable {
  const { of } = view;
  const s = of.samples;
  const plain = (key: Axis, label: string, about: string, digits = 2): Column => ({ key, label, about, width: 70, numeric: true, value: (j) => finite(s[key][j], digits), show: (j) => number(s[key][j], digits) });
  const both = (key: "difficulty" | "discrimination", label: string, about: string): Column => {
    const se = s[`${key}_se`];
    return {
      key, label, about, width: 162, numeric: true, value: (j) => finite(s[key][j], 2),
      show: (j) => interval(s[key][j], s[key][j] - of.critical * se[j], s[key][j] + of.critical * se[j]),
      more: [[`${key}_se`, (j) => finite(se[j], 2)]],
    };
  };
  const columns: Column[] = [
    { key: "sample", label: "Sample", width: 120, value: (j) => s.name[j], show: (j) => view.sampleLink(j) },
    ...(s.needs ? [{ key: "skill", label: "Skills", width: 90, minor: true, value: (j: number) => skillsOf(of, j).map((k) => of.skills.name[k]).join(" | "), show: (j: number) => shown(skillsOf(of, j).map((k) => of.skills.name[k]).join(", ")) }] : []),
    { key: "accuracy", label: of.binary ? "Accuracy" : "Mean", width: 90, numeric: true, value: (j) => finite(s.accuracy[j], 3), show: (j) => percent(s.accuracy[j]) },
    both("difficulty", "Difficulty", `${of.difficulty_means}; empty if discrimination is not distinguishable from 0`),
    both("discrimination", "Discrimination", "How sharply the sample separates learners; negative marks a broken sample"),
    plain("infit", "Infit", "1 is expected; far above 1: responses are more erratic than the diagnoser expects"),
    { key: "evidence", label: "Evidence", about: "Against the key: how much likelier responses and answers are if it is wrong. 2 means a hundred times, below 0 means less likely", width: 112, numeric: true, value: (j) => finite(s.evidence[j], 2), show: (j) => number(s.evidence[j]) },
    ...wrongAnswers(view),
    { key: "flags", label: "Flags", width: 180, value: (j) => flagsOf(of, j).join(" | "), show: (j) => flagChips(view, j) },
    ...prompts(view),
  ];
  return new WindowedTable({ title: "Samples in view", columns, rows, sort: view.query["sort"] ?? "-evidence", onSort: (sort) => remember({ sort }) });
}

/** A rounded column is exported with the decimals that are known. */
function finite(value: number, digits: number): number | null {
  return Number.isFinite(value) ? Number(value.toFixed(digits)) : null;
}

/** The most frequent wrong answer, where answers are counted. */
function wrongAnswers(view: View): Column[] {
  const { content } = view.of;
  if (!content?.other.some((one) => one)) return [];
  const said = (j: number) => (content.other[j] ? h("bdi", {}, `${content.votes[j]} of ${content.known[j]}: ${brief(content.other[j], 18)}`) : "");
  const more: Column["more"] = [["votes", (j) => content.votes[j]], ["answers", (j) => content.known[j]], ["key", (j) => content.key[j]]];
  return [{ key: "wrong_answer", label: "Wrong answer", about: "How many learners gave the most frequent wrong answer, and that answer", width: 130, value: (j) => content.other[j], show: said, more }];
}

/** What samples ask, where they do not all ask the same. */
function prompts(view: View): Column[] {
  const { content } = view.of;
  if (!content?.prompt.some((one) => one !== content.prompt[0])) return [];
  return [{ key: "prompt", label: "Prompt", width: 300, value: (j) => content.prompt[j], show: (j) => h("bdi", { title: brief(content.prompt[j], 400) }, brief(content.prompt[j].slice(0, 160), 70)) }];
}
