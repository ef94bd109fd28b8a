import type { Diagnosis } from "./model";
import { type Difference, fromCounts } from "./statistics";

const LEVEL = 0.95;

/** The model-free difference of two learners on the samples both answered. */
export function pairedDifference(of: Diagnosis, a: number, b: number): Difference | null {
  if (!of.pairs) return null;
  const n = of.learners.name.length;
  const shared = typeof of.pairs.shared === "number" ? of.pairs.shared : of.pairs.shared[a * n + b];
  if (of.pairs.only) return fromCounts(shared, of.pairs.only[a * n + b], of.pairs.only[b * n + a], of.critical);
  const at = (values: Float32Array | null) => values![a * n + b];
  const { difference, low, high, p } = of.pairs;
  return { shared, mean: at(difference), low: at(low), high: at(high), p: at(p), onlyFirst: null, onlySecond: null };
}

export interface Tested {
  difference: number; // of abilities, first less second
  low: number;
  high: number;
  better: number; // P(first above second)
  verdict: "different" | "different as a pair alone" | "cannot be told apart";
}

/** Whether the leaderboard tells two learners apart: those that it does not are in a set of tied ones together. */
export function toldApart(of: Diagnosis, a: number, b: number): boolean {
  return of.learners.rank_low !== null && !of.learners.ties.some((places) => places.includes(a) && places.includes(b));
}

/** Two learners as the leaderboard decides it; the first has the better rank. Null: not in the page. */
export function tested(of: Diagnosis, a: number, b: number): Tested | null {
  if (!of.pairs) return null;
  const n = of.learners.name.length;
  const at = a * n - (a * (a + 1)) / 2 + (b - a - 1);
  const [better, half] = [of.pairs.better[at], of.pairs.half[at]];
  const difference = of.learners.ability[a] - of.learners.ability[b];
  const alone = (pairedDifference(of, a, b)?.p ?? 1) < 1 - LEVEL;
  const verdict = toldApart(of, a, b) ? "different" : alone ? "different as a pair alone" : "cannot be told apart";
  return { difference, low: difference - half, high: difference + half, better, verdict };
}
