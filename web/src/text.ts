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

/** Names of one list, long ones without the words at their end that another has too: what is left tells them apart. */
export function ownParts(names: string[]): string[] {
  const turned = names.map((name, i) => ({ i, letters: [...name].reverse() }));
  turned.sort((a, b) => (a.letters.join("") < b.letters.join("") ? -1 : 1));
  const shared = turned.map((one, at) => Math.max(common(one.letters, turned[at - 1]?.letters), common(one.letters, turned[at + 1]?.letters)));
  const parts = [...names];
  turned.forEach(({ i, letters }, at) => {
    if (letters.length <= LONG) return;
    const whole = letters.reverse();
    const start = whole.length - shared[at];
    const word = whole.findIndex((letter, k) => k >= start && !/[\p{L}\p{N}_]/u.test(letter));
    if (word > 0 && word < whole.length - LITTLE) parts[i] = whole.slice(0, word).join("") + "…";
  });
  return parts.map((part, i) => (parts.indexOf(part) === parts.lastIndexOf(part) ? part : names[i]));
}

const [LONG, LITTLE] = [20, 4]; // letters: of a name to be cut at all, and not worth a cut

/** How many letters two names begin with alike; none where they are the same. */
function common(one: string[], other: string[] | undefined): number {
  if (!other || one.join("") === other.join("")) return 0;
  let n = 0;
  while (n < one.length && n < other.length && one[n] === other[n]) n++;
  return n;
}

/** A file name from any text. */
export function fileName(text: string, ending: string): string {
  const safe = text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${safe || "camilla"}.${ending}`;
}
