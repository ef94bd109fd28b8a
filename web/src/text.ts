// Numbers and names as a person reads them.

const MINUS = "−";

/** A number with so many decimals; an empty string where there is none. */
export function number(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  const text = Math.abs(value) >= 1e6 ? value.toExponential(2) : value.toFixed(digits);
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text.replace("-", MINUS);
}

export function percent(value: number | null | undefined, digits = 1): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  return `${number(100 * value, digits)}\u00a0%`;
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

/** "1.62 (1.21 to 2.03)", or the number alone where the interval is not known. */
export function interval(value: number, low: number, high: number, digits = 2): string {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return number(value, digits);
  return `${number(value, digits)} (${number(low, digits)} to ${number(high, digits)})`;
}

export function pValue(p: number): string {
  if (!Number.isFinite(p)) return "";
  return p < 0.001 ? "< .001" : p.toFixed(3).replace(/^0/, "");
}

// Control characters, line separators and marks that change the direction of text are spelled out.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

export function shown(name: string): string {
  return name.replace(UNSEEN, (c) => {
    const code = c.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** A name short enough, its middle left out, for names often differ at their ends; never half a character. */
export function brief(name: string, longest: number): string {
  const letters = [...shown(name)];
  if (letters.length <= longest) return letters.join("");
  const tail = Math.max(0, Math.floor((longest - 1) / 2));
  const head = Math.max(1, longest - 1 - tail);
  return letters.slice(0, head).join("") + "…" + letters.slice(letters.length - tail).join("");
}

/**
 * Labels for the names of one chart: each fits, and no two different names get the same label.
 *
 * A name that does not fit loses the words at its end that another name has too, else its middle. Names that would
 * then look alike are cut where they agree instead, so that what is left tells them apart.
 */
export function labels(names: string[], fits: (text: string) => boolean): string[] {
  const whole = names.map(shown);
  const short = ownParts(whole);
  const out = whole.map((name, i) => (fits(name) ? name : fits(short[i]) ? short[i] : longestThatFits([...name].length, (n) => brief(name, n), fits)));
  const relabel = (alike: number[], cut: typeof apart) => cut(alike.map((i) => whole[i]), fits).forEach((label, at) => (out[alike[at]] = label));
  for (const alike of groups(out, whole)) relabel(alike, apart);
  for (const alike of byWords(groups(out, whole).flat(), whole)) relabel(alike, differing);
  numbered(groups(out, whole).flat(), whole, out, fits);
  return out;
}

/** Labels of at most so many letters. */
export function briefLabels(names: string[], longest: number): string[] {
  return labels(names, (text) => [...text].length <= longest);
}

/** Places of labels that stand for more than one name. */
function groups(labels: string[], names: string[]): number[][] {
  const places = new Map<string, number[]>();
  labels.forEach((label, i) => places.set(label, [...(places.get(label) ?? []), i]));
  return [...places.values()].filter((alike) => new Set(alike.map((i) => names[i])).size > 1);
}

/** The text of the most letters that fits; of the fewest where none does. */
function longestThatFits(most: number, text: (letters: number) => string, fits: (text: string) => boolean): string {
  let [low, high] = [1, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(text(middle))) low = middle;
    else high = middle - 1;
  }
  return text(low);
}

/** What the names begin and end with alike is left out, as little of the beginning as the room allows. */
function apart(names: string[], fits: (text: string) => boolean): string[] {
  const letters = names.map((name) => [...name]);
  const head = Math.min(...letters.map((one) => common(letters[0], one, true)));
  const turned = letters.map((one) => one.slice(head).reverse());
  const tail = Math.min(...turned.map((one) => common(turned[0], one, true)));
  return letters.map((one) => {
    const own = one.slice(head, one.length - tail).join("");
    const text = (kept: number) => one.slice(0, kept).join("") + (kept < head ? "…" : "") + own + (tail ? "…" : "");
    if (fits(text(0))) return longestThatFits(head + 1, (n) => text(n - 1), fits);
    return longestThatFits([...own].length, (n) => `…${brief(own, n)}`, fits);
  });
}

/** The words of a name and what stands between them. */
function wordsOf(name: string): string[] {
  return name.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu) ?? [];
}

/** Places of names that have as many words. */
function byWords(places: number[], names: string[]): number[][] {
  const alike = new Map<number, number[]>();
  for (const i of places) alike.set(wordsOf(names[i]).length, [...(alike.get(wordsOf(names[i]).length) ?? []), i]);
  return [...alike.values()];
}

/** The words in which names of as many words differ, in full or as the first letters that tell them apart. */
function differing(names: string[], fits: (text: string) => boolean): string[] {
  const words = names.map(wordsOf);
  const short = words[0].map((_, at) => prefixes(words.map((one) => one[at])));
  const joined = (one: string[], word: (at: number) => string) =>
    one.map((_, at) => (short[at] ? word(at) : "…")).join(" ").replaceAll(/(… ?)+/g, "…").replaceAll(" ", "");
  return words.map((one, i) => {
    const [full, first] = [joined(one, (at) => one[at]), joined(one, (at) => short[at]![i])];
    return fits(full) ? full : longestThatFits([...first].length, (n) => brief(first, n), fits);
  });
}

/** The fewest first letters that tell the words apart; null where they are all the same. */
function prefixes(words: string[]): string[] | null {
  const different = new Set(words);
  if (different.size === 1) return null;
  const longest = Math.max(...words.map((one) => one.length));
  for (let n = 1; n < longest; n++) if (new Set(words.map((one) => one.slice(0, n))).size === different.size) return words.map((one) => one.slice(0, n));
  return words;
}

/** The last resort: a number behind each label. */
function numbered(places: number[], names: string[], out: string[], fits: (text: string) => boolean): void {
  const number = new Map([...new Set(places.map((i) => names[i]))].map((name, at) => [name, at + 1]));
  for (const i of places) {
    const label = out[i];
    out[i] = longestThatFits([...label].length, (n) => `${brief(label, n)} (${number.get(names[i])})`, fits);
  }
}

/** Names of one list, long ones without the words at their end that another has too: what is left tells them apart. */
function ownParts(names: string[]): string[] {
  const turned = names.map((name, i) => ({ i, letters: [...name].reverse() }));
  const key = turned.map(({ letters }) => letters.join(""));
  turned.sort((a, b) => (key[a.i] < key[b.i] ? -1 : 1));
  const shared = turned.map((one, at) => Math.max(common(one.letters, turned[at - 1]?.letters), common(one.letters, turned[at + 1]?.letters)));
  const parts = [...names];
  turned.forEach(({ i, letters }, at) => {
    if (letters.length <= LONG) return;
    const whole = letters.reverse();
    const start = whole.length - shared[at];
    const word = whole.findIndex((letter, k) => k >= start && !/[\p{L}\p{N}_]/u.test(letter));
    if (word > 0 && word < whole.length - LITTLE) parts[i] = whole.slice(0, word).join("") + "…";
  });
  const times = new Map<string, number>();
  for (const part of parts) times.set(part, (times.get(part) ?? 0) + 1);
  return parts.map((part, i) => (times.get(part) === 1 ? part : names[i]));
}

const [LONG, LITTLE] = [20, 4]; // letters: of a name to be cut at all, and not worth a cut

/** How many letters two names begin with alike; none where they are the same, unless that is asked for. */
function common(one: string[], other: string[] | undefined, same = false): number {
  if (!other) return 0;
  let n = 0;
  while (n < one.length && n < other.length && one[n] === other[n]) n++;
  return !same && n === one.length && n === other.length ? 0 : n;
}

/** A file name from any text. */
export function fileName(text: string, ending: string): string {
  const safe = text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${safe || "camilla"}.${ending}`;
}
