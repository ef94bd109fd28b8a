import type { Draws } from "./model";
import { quantile } from "./statistics";

/** Draws of each learner's accuracy on a mix of skills. */
export interface Mix {
  learners: number; // how many may be chosen
  draws: number;
  score: Float32Array; // [draws, learners]
}

/** Unpacks the draws: [draws, learners, skills]. */
export function unpackedDraws(of: Draws): Float32Array {
  const cells = of.mean.length;
  const out = new Float32Array(of.steps.length);
  for (let at = 0; at < out.length; at++) out[at] = of.mean[at % cells] + of.step[at % cells] * (of.steps[at] - 128);
  return out;
}

/** The mean over skills by weight, in every draw; equal weights where all are 0. */
export function mixed(values: Float32Array, learners: number, weights: number[]): Mix {
  const k = weights.length;
  const total = weights.reduce((sum, one) => sum + one, 0);
  const share = weights.map((one) => (total > 0 ? one / total : 1 / k));
  const score = new Float32Array(values.length / k);
  for (let at = 0; at < score.length; at++) {
    let sum = 0;
    for (let skill = 0; skill < k; skill++) if (share[skill]) sum += share[skill] * values[at * k + skill];
    score[at] = sum;
  }
  return { learners, draws: score.length / learners, score };
}

/** The share of draws in which each allowed learner has the highest score; equal scores share it. */
export function chanceBest(mix: Mix, allowed: (learner: number) => boolean): number[] {
  const best = Array.from({ length: mix.learners }, () => 0);
  const may = best.map((_, i) => allowed(i));
  for (let d = 0; d < mix.draws; d++) {
    const row = mix.score.subarray(d * mix.learners, (d + 1) * mix.learners);
    let [top, ties] = [-Infinity, 0];
    for (let i = 0; i < row.length; i++) {
      if (!may[i]) continue;
      if (row[i] > top) [top, ties] = [row[i], 1];
      else if (row[i] === top) ties++;
    }
    for (let i = 0; i < row.length; i++) if (may[i] && row[i] === top) best[i] += 1 / (ties * mix.draws);
  }
  return best;
}

export function chanceBetter(mix: Mix, one: number, other: number): number {
  let sum = 0;
  for (let d = 0; d < mix.draws; d++) {
    const difference = mix.score[d * mix.learners + one] - mix.score[d * mix.learners + other];
    sum += difference > 0 ? 1 : difference === 0 ? 0.5 : 0;
  }
  return sum / mix.draws;
}

export interface Score {
  value: number;
  low: number;
  high: number;
}

/** Mean and middle 95 % of a learner's draws. */
export function scoreOf(mix: Mix, learner: number): Score {
  const column = Float32Array.from({ length: mix.draws }, (_, d) => mix.score[d * mix.learners + learner]);
  const value = column.reduce((sum, one) => sum + one, 0) / mix.draws;
  return { value, low: quantile(column, 0.025), high: quantile(column, 0.975) };
}

/** The places that no other beats at the same or a lower cost, cheapest first. */
export function frontier(cost: number[], score: number[]): number[] {
  const order = cost.map((_, i) => i).filter((i) => Number.isFinite(cost[i]) && Number.isFinite(score[i])).sort((a, b) => cost[a] - cost[b] || score[b] - score[a]);
  const out: number[] = [];
  for (const i of order) if (!out.length || score[i] > score[out[out.length - 1]]) out.push(i);
  return out;
}
