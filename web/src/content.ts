// What samples ask and what learners answered. All of it is untrusted: text becomes text nodes only, an image
// is shown only from checked data, a link only if it is http or https.

import { type Child, h, link, name } from "./dom";
import { type Diagnosis, response } from "./model";
import { count, shown } from "./text";
import { inflated } from "./unpack";

/** What the list of samples shows, and in which piece the rest of each sample lies. */
export interface Content {
  prompt: string[]; // whole, or start and end
  key: string[];
  other: string[]; // the most frequent wrong answer, "" where answers are not counted
  votes: Uint32Array; // learners that gave it
  known: Uint32Array; // learners whose answers are counted
  where: Int32Array; // place in `pieces`, −1: nothing is known or it was left out
  pieces: (number | string)[]; // an embedded piece by its number, another by its file's name
  folder: string | null;
  embedded: number; // samples
  beside: number;
  left_out: number;
}

export interface Picture {
  source?: string;
  link?: string;
  text?: string;
  refused?: string;
}

interface Answers {
  learner: number[];
  trial?: (number | null)[];
  answer?: number[];
  extracted?: number[];
  reason?: number[];
}

export interface SampleRecord {
  sample: string;
  why?: string;
  prompt?: string;
  reference?: string;
  choices?: string[];
  image?: Picture;
  texts?: string[];
  answers?: Answers;
  response?: (number | null)[];
}

export interface Answer {
  learner: number;
  trial: number | null;
  answer: string;
  extracted: string;
  reason: string;
}

/** A sentence on what this page holds and what lies beside it. */
export function whatIsHeld(content: Content): string {
  const total = content.embedded + content.beside + content.left_out;
  const samples = (n: number) => `${count(n)} ${n === 1 ? "sample" : "samples"}`;
  if (!content.beside && !content.left_out) return `Prompts and answers of ${samples(total)} are in this page.`;
  const parts = [`Prompts and answers of ${count(content.embedded)} of ${samples(total)} are in this page`];
  if (content.beside) parts.push(`those of ${count(content.beside)} are beside it in ${shown(content.folder ?? "")}`);
  if (content.left_out) parts.push(`those of ${count(content.left_out)} were left out because they are too large`);
  return `${parts.join("; ")}.`;
}

const opened = new Map<string, Promise<SampleRecord[]>>();
const MOST_OPEN = 6; // pieces that are kept in memory

/** What is known of a sample; null where nothing is. */
export async function recordOf(of: Diagnosis, j: number): Promise<SampleRecord | null> {
  const content = of.content;
  if (!content || content.where[j] < 0) return null;
  const piece = content.pieces[content.where[j]];
  const key = String(piece);
  let records = opened.get(key);
  if (!records) {
    records = pieceText(content, piece).then(unpackedRecords);
    records.catch(() => opened.delete(key));
    opened.set(key, records);
    if (opened.size > MOST_OPEN) opened.delete([...opened.keys()][0]);
  }
  return (await records).find((one) => one.sample === of.samples.name[j]) ?? null;
}

async function unpackedRecords(text: string): Promise<SampleRecord[]> {
  const bytes = await inflated(Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0)));
  return JSON.parse(new TextDecoder().decode(bytes)) as SampleRecord[];
}

async function pieceText(content: Content, piece: number | string): Promise<string> {
  if (typeof piece === "number") return document.getElementById(`content-${piece}`)?.textContent ?? "";
  return sent(`${encodeURIComponent(content.folder ?? "")}/${encodeURIComponent(piece)}`);
}

const PATIENCE = 3000; // milliseconds after a file was loaded without sending anything

/** The data that a file beside the page sends: it runs in a frame that can reach nothing of this page. */
function sent(address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const frame = h("iframe", { sandbox: "allow-scripts", hidden: true, title: "Part of the report", "aria-hidden": "true", tabindex: -1 });
    const done = () => {
      removeEventListener("message", hear);
      frame.remove();
    };
    const hear = (event: MessageEvent) => {
      if (event.source !== frame.contentWindow || typeof event.data !== "string") return;
      done();
      resolve(event.data);
    };
    addEventListener("message", hear);
    frame.addEventListener("load", () =>
      setTimeout(() => {
        done();
        reject(new Error("not there"));
      }, PATIENCE),
    );
    frame.src = address;
    document.body.append(frame);
  });
}

export function answersOf(record: SampleRecord): Answer[] {
  const { answers, texts = [] } = record;
  if (!answers) return [];
  const text = (places: number[] | undefined, i: number) => (places && places[i] >= 0 ? (texts[places[i]] ?? "") : "");
  return answers.learner
    .map((learner, i) => ({ learner, trial: answers.trial?.[i] ?? null, answer: text(answers.answer, i), extracted: text(answers.extracted, i), reason: text(answers.reason, i) }))
    .filter((one) => one.learner >= 0);
}

/** What a learner is counted with: what the harness took from its answer, or else the answer. */
export function given(one: Answer): string {
  return (one.extracted || one.answer).trim();
}

// Line ends and tabs stay; everything else that is not seen or turns text round is spelled out.
export function spelled(text: string): string {
  return text.replace(/\r\n?/g, "\n").split(/([\n\t])/).map((part) => (part === "\n" || part === "\t" ? part : shown(part))).join("");
}

const FOLD = 700; // letters that are seen before a text is unfolded

/** A text from the data: isolated from the direction around it, folded where it is long. */
export function prose(text: string, fold = FOLD): HTMLElement {
  const whole = spelled(text);
  const block = (part: string) => h("div", { class: "prose-text", dir: "auto" }, part);
  if (whole.length <= 1.5 * fold) return block(whole);
  const letters = [...whole];
  return h("details", { class: "fold" }, h("summary", {}, block(`${letters.slice(0, fold).join("")} …`), h("span", { class: "more" }, `all ${count(letters.length)} characters`)), block(whole));
}

const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/;

/** A picture only from data that was checked when the page was made; a link in full; else text. */
export function picture(of: Picture, sample: string): HTMLElement {
  if (of.source && IMAGE.test(of.source)) {
    const image = h("img", { alt: `Picture of sample ${shown(sample)}`, class: "sample-picture" });
    image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth <= 64));
    image.src = of.source;
    return image;
  }
  if (of.link && isWeb(of.link)) return h("p", {}, "Image: ", h("a", { href: of.link, rel: "noopener noreferrer", target: "_blank" }, h("bdi", { class: "address" }, shown(of.link))));
  if (of.refused) return h("p", { class: "quiet" }, `Not shown: ${shown(of.refused)}.`);
  return h("p", {}, "Image: ", h("bdi", { class: "address" }, shown(of.text ?? of.link ?? "")));
}

function isWeb(text: string): boolean {
  try {
    return ["http:", "https:"].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

/** What a sample asks, as far as it is known. */
export function question(record: SampleRecord, fold = FOLD): HTMLElement {
  const parts: Child[] = [];
  if (record.prompt) parts.push(prose(record.prompt, fold));
  if (record.choices?.length) parts.push(h("ol", { class: "choices" }, ...record.choices.map((one) => h("li", {}, prose(one, 300)))));
  if (record.reference) parts.push(h("div", { class: "labelled" }, h("span", { class: "label" }, "Reference answer"), prose(record.reference, 300)));
  return h("div", { class: "question" }, record.image ? picture(record.image, record.sample) : null, parts.length ? h("div", { class: "asked" }, ...parts) : null);
}

/** "18 of 25 learners answered B; the key says C." */
export function verdictOnKey(content: Content | null, j: number): string | null {
  if (!content || !content.other[j]) return null;
  const [votes, known, key] = [content.votes[j], content.known[j], content.key[j]];
  const others = `${count(votes)} of ${count(known)} ${known === 1 ? "learner" : "learners"} answered “${shown(content.other[j])}”`;
  if (!key) return `The most frequent wrong answer: ${others}.`;
  if (key === content.other[j]) return `${others}, which is the reference itself, and were scored wrong: the scoring may be at fault.`;
  return `${others}; the key says “${shown(key)}”.`;
}

interface Group {
  text: string;
  learners: number[];
  reasons: Answer[];
}

/** Who was right and what the others said, equal answers together, the most frequent first. */
export function answerGroups(of: Diagnosis, j: number, record: SampleRecord, href: (learner: number) => string): HTMLElement {
  const right = new Map<string, Group>();
  const wrong = new Map<string, Group>();
  const whole = answersOf(record);
  for (const one of whole) {
    const value = response(of, j, one.learner);
    const text = given(one);
    const into = value !== null && value >= 0.5 ? right : wrong;
    const group = into.get(text) ?? { text, learners: [], reasons: [] };
    if (!group.learners.includes(one.learner)) group.learners.push(one.learner);
    if (one.reason || (one.extracted && one.answer && one.extracted.trim() !== one.answer.trim())) group.reasons.push(one);
    into.set(text, group);
  }
  return h("div", { class: "answers" }, side(of, j, "Right", right, href), side(of, j, "Wrong", wrong, href));
}

const MOST_GROUPS = 40;
const MOST_NAMES = 12;

function side(of: Diagnosis, j: number, title: string, groups: Map<string, Group>, href: (learner: number) => string): HTMLElement {
  const ordered = [...groups.values()].sort((a, b) => b.learners.length - a.learners.length || a.learners[0] - b.learners[0]);
  const who = new Set(ordered.flatMap((one) => one.learners)).size;
  const heading = h("h3", { class: title.toLowerCase() }, of.binary ? `${title}: ${count(who)}` : `${title === "Right" ? "Response of one half or more" : "Response below one half"}: ${count(who)}`);
  if (!who) return h("section", {}, heading, h("p", { class: "quiet" }, "No learner."));
  return h(
    "section",
    {},
    heading,
    ...ordered.slice(0, MOST_GROUPS).map((group) => answerCard(of, j, group, href)),
    ordered.length > MOST_GROUPS ? h("p", { class: "quiet" }, `${count(ordered.length - MOST_GROUPS)} other answers are in the table below.`) : null,
  );
}

function answerCard(of: Diagnosis, j: number, group: Group, href: (learner: number) => string): HTMLElement {
  const n = group.learners.length;
  group.learners.sort((a, b) => a - b); // by rank
  const names = (list: number[]) => list.flatMap((i, at): Child[] => [at ? ", " : "", link(href(i), name(of.learners.name[i], 40))]);
  const rest = group.learners.slice(MOST_NAMES);
  return h(
    "article",
    { class: "said" },
    group.text ? prose(group.text, 300) : h("p", { class: "quiet" }, "no answer"),
    h(
      "p",
      { class: "by" },
      n > 1 ? h("strong", {}, `${count(n)} learners: `) : null,
      ...names(group.learners.slice(0, MOST_NAMES)),
      rest.length ? h("details", { class: "rest" }, h("summary", {}, `and ${count(rest.length)} more`), ...names(rest)) : null,
    ),
    ...group.reasons.slice(0, MOST_NAMES).map((one) => fullAnswer(of, j, one)),
  );
}

/** The whole answer, where only a part of it was scored, and what the judge said. */
function fullAnswer(of: Diagnosis, j: number, one: Answer): HTMLElement {
  const value = response(of, j, one.learner);
  const scored = of.binary || value === null ? "" : `, response ${value.toFixed(2)}`;
  return h(
    "details",
    { class: "rest" },
    h("summary", {}, "whole answer of ", name(of.learners.name[one.learner], 40), one.trial ? `, trial ${one.trial + 1}` : "", scored),
    one.answer ? prose(one.answer) : null,
    one.reason ? h("div", { class: "labelled" }, h("span", { class: "label" }, "Reason of the judge"), prose(one.reason, 400)) : null,
  );
}

/** A place that is filled once a sample's content was read; what goes wrong is said there. */
export function filled(of: Diagnosis, j: number, fill: (record: SampleRecord) => Child[], attributes: Record<string, string> = {}): HTMLElement {
  const box = h("div", { class: "content-box", "aria-busy": "true", ...attributes });
  recordOf(of, j).then(
    (record) => {
      box.removeAttribute("aria-busy");
      box.replaceChildren(...(record ? fill(record) : [h("p", { class: "quiet" }, "Neither a prompt nor answers are known.")]).filter((one): one is Node | string => Boolean(one)));
    },
    () => {
      box.removeAttribute("aria-busy");
      box.replaceChildren(h("p", { class: "callout" }, `What this sample asks is in the folder ${shown(of.content?.folder ?? "")} beside this page, but cannot be read there. Keep page and folder together.`));
    },
  );
  return box;
}
