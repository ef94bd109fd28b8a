/** P(Z ≤ z) by Abramowitz and Stegun 7.1.26 refined: the complementary error function of Numerical Recipes, 1.2e-7. */
export function normalCdf(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.5 * x);
  const poly =
    -1.26551223 +
    t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  const tail = 0.5 * t * Math.exp(-x * x + poly);
  return z > 0 ? 1 - tail : tail;
}

export function twoSided(z: number): number {
  return Number.isFinite(z) ? Math.min(1, 2 * normalCdf(-Math.abs(z))) : NaN;
}

/** McNemar's exact test: a and b discordant samples, each side as likely under equality. */
export function mcnemar(a: number, b: number): number {
  const n = a + b;
  if (n === 0) return 1;
  const k = Math.min(a, b);
  let log = -n * Math.LN2;
  let sum = Math.exp(log);
  for (let i = 1; i <= k; i++) {
    log += Math.log((n - i + 1) / i);
    sum += Math.exp(log);
  }
  return Math.min(1, 2 * sum);
}

const HALVINGS = 50; // of a search in [−1, 1]: 2⁻⁵⁰ is rounding

/** Tango's (1998) score interval of a paired difference (won − lost)/n, as in intervals.py. */
export function tango(won: number, lost: number, n: number, critical: number): [low: number, high: number] {
  const found = (won - lost) / n;
  const score = (d: number) => {
    const linear = (2 * n - won + lost) * d - won - lost;
    const constant = lost * d * (1 - d);
    const q = (Math.sqrt(Math.max(linear * linear + 8 * n * constant, 0)) - linear) / (4 * n);
    return (won - lost - n * d) / Math.sqrt(Math.max(n * (2 * q + d * (1 - d)), 1e-300));
  };
  const end = (edge: number) => {
    let [inside, outside] = [found, edge];
    for (let i = 0; i < HALVINGS; i++) {
      const middle = (inside + outside) / 2;
      if (Math.abs(score(middle)) <= critical) inside = middle;
      else outside = middle;
    }
    return (inside + outside) / 2;
  };
  return [end(-1), end(1)];
}

export interface Difference {
  shared: number;
  mean: number;
  low: number;
  high: number;
  p: number;
  onlyFirst: number | null;
  onlySecond: number | null;
}

/** Two right/wrong records over n shared samples: (a − b)/n, Tango's interval, McNemar's exact test. */
export function fromCounts(shared: number, onlyFirst: number, onlySecond: number, critical: number): Difference {
  const [low, high] = tango(onlyFirst, onlySecond, shared, critical);
  return { shared, mean: (onlyFirst - onlySecond) / shared, low, high, p: mcnemar(onlyFirst, onlySecond), onlyFirst, onlySecond };
}

export function mean(values: Iterable<number>): number {
  let sum = 0;
  let n = 0;
  for (const value of values)
    if (Number.isFinite(value)) {
      sum += value;
      n += 1;
    }
  return n ? sum / n : NaN;
}

/** The q-quantile of the finite numbers, by linear interpolation. */
export function quantile(values: ArrayLike<number>, q: number): number {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  if (!sorted.length) return NaN;
  const at = (sorted.length - 1) * q;
  const below = Math.floor(at);
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}
