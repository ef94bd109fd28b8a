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

/** A name short enough for an axis; whole characters, never half of one. */
export function brief(name: string, longest: number): string {
  const letters = [...shown(name)];
  return letters.length <= longest ? letters.join("") : letters.slice(0, Math.max(1, longest - 1)).join("") + "…";
}

/** A file name from any text. */
export function fileName(text: string, ending: string): string {
  const safe = text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${safe || "camilla"}.${ending}`;
}
