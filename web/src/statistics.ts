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

const LANCZOS = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

/** log Γ(x) for x > 0, by Lanczos; good to about 1e-13. */
export function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const t = x + 6.5;
  const sum = LANCZOS.reduce((total, c, i) => total + c / (x + i), 0.99999999999980993);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The regularised incomplete beta function, by Lentz's continued fraction. */
export function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  const tiny = 1e-300;
  let [c, d] = [1, 1 - ((a + b) * x) / (a + 1)];
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let value = d;
  for (let m = 1; m < 5000; m++) {
    for (const step of [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)), (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 + step * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + step / c;
      if (Math.abs(c) < tiny) c = tiny;
      value *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-14) break;
  }
  return front * value;
}

/** P(at most k of n successes). */
export function binomialCdf(k: number, n: number, p: number): number {
  if (k < 0) return 0;
  return k >= n ? 1 : incompleteBeta(n - k, k + 1, 1 - p);
}

/** The most successes of the rarer side at which the exact test of m flips rejects; −1 where none does. */
function lastRejected(m: number, alpha: number): number {
  let k = Math.max(-1, Math.min(m, Math.floor((m - 1 - 1.96 * Math.sqrt(m)) / 2)));
  while (2 * binomialCdf(k + 1, m, 0.5) <= alpha) k++;
  while (k >= 0 && 2 * binomialCdf(k, m, 0.5) > alpha) k--;
  return k;
}

const TERMS = 300; // of the sum over the number of flips; with more flips it skips between them

/** The power of the exact McNemar test on n samples, as power.py has it. */
export function mcnemarPower(discordance: number, difference: number, n: number, alpha = 0.05): number {
  const [middle, spread] = [n * discordance, 9 * Math.sqrt(n * discordance * (1 - discordance)) + 1];
  const [first, last] = [Math.max(0, Math.floor(middle - spread)), Math.min(n, Math.floor(middle + spread))];
  const lean = Math.min((discordance + Math.abs(difference)) / (2 * discordance), 1);
  const step = Math.max(1, Math.floor((last - first) / TERMS));
  const ways = logGamma(n + 1);
  let [sum, weight] = [0, 0];
  for (let m = first; m <= last; m += step) {
    const none = n - m ? (n - m) * Math.log1p(-discordance) : 0;
    const share = Math.exp(ways - logGamma(m + 1) - logGamma(n - m + 1) + m * Math.log(discordance) + none);
    weight += share;
    if (share < 1e-15) continue;
    const k = lastRejected(m, alpha);
    if (k >= 0) sum += share * (binomialCdf(k, m, lean) + binomialCdf(k, m, 1 - lean));
  }
  return step > 1 ? sum / weight : sum;
}

const MOST = 1e9; // samples; beyond it a difference counts as out of reach
const EXACT = 2e5; // samples; beyond it the test is as good as normal

/** The fewest samples on which the exact McNemar test shows the difference; null if no number does. */
export function samplesFor(discordance: number, difference: number, power = 0.8, alpha = 0.05): number | null {
  if (!(Math.abs(difference) > 0) || Math.abs(difference) > discordance) return null;
  const wanted = normalSamples(Math.sqrt(discordance), Math.sqrt(Math.max(discordance - difference ** 2, 0)), difference, power, alpha);
  if (wanted > MOST) return null;
  if (wanted > EXACT) return Math.ceil(wanted);
  let high = 2;
  while (mcnemarPower(discordance, difference, high, alpha) < power) high *= 2;
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (mcnemarPower(discordance, difference, middle, alpha) >= power) high = middle;
    else low = middle;
  }
  return high;
}

/** The fewest samples on which the paired t-test shows the difference (Guenther 1981): normal, half a squared quantile more. */
export function samplesForMeans(sd: number, difference: number, power = 0.8, alpha = 0.05): number | null {
  if (!(Math.abs(difference) > 0) || !(sd > 0)) return null;
  const n = Math.ceil(normalSamples(sd, sd, difference, power, alpha) + normalQuantile(1 - alpha / 2) ** 2 / 2);
  return n > MOST ? null : n;
}

/** Samples of a normal test whose statistic has one spread under equality and another under the difference. */
function normalSamples(equal: number, different: number, difference: number, power: number, alpha: number): number {
  return ((normalQuantile(1 - alpha / 2) * equal + normalQuantile(power) * different) / difference) ** 2;
}

/** The z that a share p of the normal distribution lies below, by bisection. */
export function normalQuantile(p: number): number {
  let [low, high] = [-9, 9];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
