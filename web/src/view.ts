import { h, link, name } from "./dom";
import type { Diagnosis, Part, Report } from "./model";
import { to } from "./route";
import { briefLabels, count, interval, percent } from "./text";

const IN_SENTENCE = 60; // letters of a name

/** What a page is drawn from: the report, the diagnosis in view, the settings in the address. */
export class View {
  constructor(
    readonly report: Report,
    readonly query: Record<string, string>,
  ) {}

  get number(): number {
    const wanted = Number(this.query["d"] ?? 0);
    return this.report.diagnoses[wanted] ? wanted : 0;
  }

  get of(): Diagnosis {
    return this.report.diagnoses[this.number];
  }

  /** A link that stays with the diagnosis in view. */
  to(page: string, query: Record<string, string | number | null | undefined> = {}): string {
    return to(page, { d: this.number || null, ...query });
  }

  learner(i: number): string {
    return this.to("learner", { name: this.of.learners.name[i] });
  }

  sample(j: number): string {
    return this.to("samples", { sample: this.of.samples.name[j] });
  }

  skill(k: number): string {
    return this.to("skills", { skill: this.of.skills.name[k] });
  }

  learnerLink(i: number): HTMLElement {
    return link(this.learner(i), name(this.of.learners.name[i]));
  }

  sampleLink(j: number): HTMLElement {
    return link(this.sample(j), name(this.of.samples.name[j]));
  }

  skillLink(k: number): HTMLElement {
    return link(this.skill(k), name(this.of.skills.name[k]));
  }

  sentence(parts: Part[]): (Node | string)[] {
    return parts.map((part) => {
      if (typeof part === "string") return part;
      const { learners, samples, skills } = this.of;
      if (part.learner !== undefined) return link(this.learner(part.learner), name(learners.name[part.learner], IN_SENTENCE));
      if (part.sample !== undefined) return link(this.sample(part.sample), name(samples.name[part.sample], IN_SENTENCE));
      return link(this.skill(part.skill!), name(skills.name[part.skill!], IN_SENTENCE));
    });
  }

  get scale(): string {
    return this.of.unit ? "ability (0 to 1)" : "ability (standard deviations of the pool)";
  }

  get plain(): string {
    return this.of.binary ? "accuracy" : "mean response";
  }

  get hasSkills(): boolean {
    return this.of.skills.name.length > 1;
  }

  ability(i: number): string {
    const { ability, low, high } = this.of.learners;
    return interval(ability[i], low[i], high[i]);
  }

  accuracy(i: number): string {
    const { accuracy, accuracy_low: low, accuracy_high: high } = this.of.learners;
    return `${percent(accuracy[i])} (${percent(low[i])} to ${percent(high[i])})`;
  }

  skillAbility(i: number, k: number): string {
    const { ability, low, high } = this.of.skills;
    const at = i * this.of.skills.name.length + k;
    return interval(ability[at], low[at], high[at]);
  }

  skillAccuracy(i: number, k: number): string {
    const { accuracy, accuracy_low: low, accuracy_high: high, n } = this.of.skills;
    const at = i * this.of.skills.name.length + k;
    return `${percent(accuracy[at])} (${percent(low[at])} to ${percent(high[at])}), ${count(Math.round(n[at]))} responses`;
  }
}

export type Page = (view: View) => Node[];

export interface Families {
  names: string[]; // the largest first; the last one is of all others where there are too many
  of: number[]; // the family of each learner: a place in `names`, and its colour
}

const COLOURS = 8;

/** Learners by family: as given, else by the first word of their names. None where fewer than two have members. */
export function familiesOf(names: string[], given: string[] | null): Families | null {
  const own = names.map((name, i) => given?.[i] || (given ? "" : firstWord(name)));
  const sizes = new Map<string, number>();
  for (const one of own) if (one) sizes.set(one, (sizes.get(one) ?? 0) + 1);
  const large = [...sizes].filter(([, n]) => n > 1 || given).sort((a, b) => b[1] - a[1]);
  if (large.length < 2) return null;
  const kept = large.slice(0, COLOURS - 1).map(([name]) => name);
  const of = own.map((one) => (kept.includes(one) ? kept.indexOf(one) : kept.length));
  return { names: of.includes(kept.length) ? [...kept, "other"] : kept, of };
}

/** The first word of a name that has letters: "svm rbf" is an svm, "20240402_sweagent_gpt4" a sweagent. */
function firstWord(name: string): string {
  const words = name.split(/[\s_/:|]+/).filter((word) => /\p{L}/u.test(word));
  return words.length > 1 ? words[0] : (words[0] ?? "").split("-")[0];
}

/** The options of a choice between names: short, and no two alike. */
export function nameOptions(names: string[], before: (place: number) => string = () => ""): [value: string, text: string][] {
  return briefLabels(names, 60).map((label, i) => [names[i], before(i) + label]);
}

/** A labelled choice that leads to another view. */
export function choice(label: string, options: [value: string, text: string][], current: string, go: (value: string) => void): HTMLElement {
  const select = h("select", { onchange: (event: Event) => go((event.target as HTMLSelectElement).value) });
  select.append(...options.map(([value, text]) => h("option", { value, selected: value === current }, text)));
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

export function heading(title: string | (Node | string)[], lead?: string | (Node | string)[], over?: string): HTMLElement {
  const asNodes = (text: string | (Node | string)[]) => (typeof text === "string" ? [text] : text);
  return h("header", { class: "page" }, over ? h("p", { class: "over" }, over) : null, headline(asNodes(title)), lead ? h("p", { class: "lead" }, ...asNodes(lead)) : null);
}

/** The page's own name; a very long one is set smaller. */
function headline(nodes: (Node | string)[]): HTMLElement {
  const h1 = h("h1", { tabindex: -1 }, ...nodes);
  if ((h1.textContent ?? "").length > 80) h1.classList.add("long");
  return h1;
}

/** Small figures with their meaning beneath. */
export function facts(items: [string, string][]): HTMLElement {
  return h("dl", { class: "facts" }, ...items.map(([value, meaning]) => h("div", {}, h("dt", {}, meaning), h("dd", {}, value))));
}

export function mastery(view: View): string {
  return view.of.unit ? "ability" : "mastery σ(ability)";
}

export function placeOf(names: string[], wanted: string | undefined): number {
  return wanted === undefined ? -1 : names.indexOf(wanted);
}
