// What the page is given: the document that `camilla.report` packs.

import type { Content, SampleRecord } from "./content";

export type Part = string | { learner?: number; sample?: number; skill?: number };

/** What is said, the numbers in it, what it rests on, is about, and is adjusted for. */
export interface Statement {
  kind: string;
  parts: Part[];
  text: string; // with names spelled out
  numbers: Record<string, { value: number | null; text: string }>;
  names: Record<string, string>;
  evidence: Statement[];
  estimand: string;
  correction: string;
}

export interface Finding {
  heading: string;
  page: string;
  statements: Statement[];
}

export interface Learners {
  name: string[];
  ability: Float32Array;
  se: Float32Array;
  low: Float32Array;
  high: Float32Array;
  accuracy: Float32Array;
  accuracy_low: Float32Array;
  accuracy_high: Float32Array;
  n: Float32Array;
  ties: number[][]; // sets of places of which no two are told apart
  with_first: number[]; // places that are not told apart from the first, itself included
  rank: Uint32Array;
  rank_low: Uint32Array | null;
  rank_high: Uint32Array | null;
  p_best: Float32Array | null; // how probably it is the best; null without draws
}

/** Matrices are [learners, skills]. */
export interface Skills {
  name: string[];
  count: Uint32Array | null;
  ability: Float32Array;
  low: Float32Array;
  high: Float32Array;
  mastery: Float32Array;
  accuracy: Float32Array;
  accuracy_low: Float32Array;
  accuracy_high: Float32Array;
  n: Float32Array;
  one_for_all: boolean; // a learner has one ability for all skills
  doubts: string[]; // what to know before abilities on skills are believed
  profile: { observed: Float32Array; expected: Float32Array; se: Float32Array } | null; // by one level for all skills
  strength: { difference: Float32Array; se: Float32Array; sure: Uint8Array; kind: string } | null;
  top: { sample: Uint32Array; weight: Float32Array } | null;
}

/** Matrices are [samples, learners] and [samples, skills]. */
export interface Samples {
  total: number;
  suspects: number; // samples with a contradicting flag
  name: string[];
  difficulty: Float32Array;
  difficulty_se: Float32Array;
  discrimination: Float32Array;
  discrimination_se: Float32Array;
  infit: Float32Array;
  outfit: Float32Array;
  expected: Float32Array;
  accuracy: Float32Array;
  guessing?: Float32Array;
  n: Uint32Array;
  flags: Record<string, Uint8Array>;
  flag_totals: Record<string, number>;
  flag_words: Record<string, string>;
  contradicting: string[]; // the flags of samples that are listed as broken
  not_judged: string | null; // why no sample is flagged
  evidence: Float32Array; // against the key, log₁₀ of a likelihood ratio
  why: string[]; // what learners say against the key; empty where nothing speaks against it
  only_ordered: string | null; // why no sample is called doubtful
  needs: Uint8Array | null;
  seen: Uint8Array | null;
  right: Uint8Array;
  chance: Uint8Array | null;
  line: { place: Float32Array; level: Float32Array; slope: Float32Array } | null; // logits: level + slopes · places
}

export interface Pairs {
  shared: number | Uint16Array | Uint32Array;
  only: Uint16Array | Uint32Array | null;
  difference: Float32Array | null;
  low: Float32Array | null;
  high: Float32Array | null;
  p: Float32Array | null;
  better: Float32Array; // P(ability of the first above that of the second), pairs i < j row by row
  half: Float32Array; // half the 95 % interval of the difference of abilities, likewise
  by_draws: boolean;
}

export interface Surprise {
  sample: Int32Array;
  probability: Float32Array;
  low: Float32Array;
  high: Float32Array;
}

/** Draws of accuracy on samples like these, [draws, learners, skills]: mean + step · (steps − 128). */
export interface Draws {
  skills: string[] | null; // null: all samples are one skill
  learners: Uint32Array; // places of those that may be chosen
  n: number;
  mean: Float32Array;
  step: Float32Array;
  steps: Uint8Array;
  source: string;
}

/** Accuracy less what a learner's level and a skill's difficulty suggest, [learners, skills]. */
export interface Strengths {
  difference: Float32Array;
  expected: Float32Array;
  sure: Uint8Array;
  rows: Uint32Array; // alike learners are neighbours
  columns: Uint32Array;
}

export interface Attributes {
  numbers: { name: string; value: Float32Array }[];
  family: string[] | null;
}

export interface Diagnosis {
  choosing: { draws: Draws; strengths: Strengths | null };
  attributes: Attributes;
  name: string;
  provenance: Record<string, unknown>;
  model: string; // its formula
  unit: boolean;
  score: boolean; // ability is an expected score
  like_these: boolean; // on samples like these, not on these alone
  estimand: string; // what an ability is
  difficulty_means: string;
  by_ability: boolean; // the expected response is a function of the ability shown
  binary: boolean;
  critical: number; // standard errors from an estimate to the ends of its 95 % interval
  latent: boolean;
  learners: Learners;
  skills: Skills;
  samples: Samples;
  pairs: Pairs | null;
  surprises: { solved: Surprise; failed: Surprise };
  headline: Part[];
  findings: Finding[];
  content: Content | null; // what samples ask and learners answered
  verdicts: Partial<Record<"leaderboard" | "samples" | "skills", Statement>>;
}

export interface Board {
  name: string;
  player: string[];
  epp: Float32Array;
  low: Float32Array;
  high: Float32Array;
  p_beats_average: Float32Array;
  rank_low: Uint32Array;
  rank_high: Uint32Array;
  ties: number[][]; // sets of places of which no two are told apart
  win: { players: number; half: Float32Array | null };
  fit: {
    deviance: number;
    df: number;
    p_value: number | null;
    p_value_rounds: number | null;
    units: string;
    pairs: number;
    first: Uint16Array;
    second: Uint16Array;
    predicted: Float32Array;
    empirical: Float32Array;
    played: Float32Array;
  };
  level: number;
  verdict: Statement;
  notes: string[];
  provenance: Record<string, unknown>;
}

export interface Series {
  name: string;
  x: number[];
  value: number[];
  low: (number | null)[];
  high: (number | null)[];
  of?: string; // which row of its group this is
}

export interface Points {
  name: string[];
  x: Float32Array;
  y: Float32Array;
}

export interface Picture {
  title: string;
  note: string;
  x: string;
  y: string;
  kind: "dots" | "lines" | "points";
  zero?: boolean; // the axis holds 0
  group?: number; // so many rows of dots belong together
  series: Series[];
  points?: Points; // both axes alike, with the line on which they agree
}

/** A table of a section. */
export interface Numbers {
  title: string;
  columns: string[];
  rows: (string | number | null)[][];
  note?: string;
  ends?: Record<string, [low: string, high: string]>; // the columns of a value's interval, which stand beside it
}

/** A section of pictures with their numbers: an experiment, a ranking, a comparison. */
export interface Experiment {
  name: string;
  title: string;
  words: string[];
  verdict: Statement | null;
  pictures: Picture[];
  columns: string[];
  rows: (string | number | null)[][];
  more?: Numbers[]; // further tables
  note?: string; // of the first table
  ends?: Numbers["ends"];
  shown?: SampleRecord[]; // with their content
  learners?: string[]; // the two that were compared
  provenance: Record<string, unknown>;
}

export interface Report {
  title: string;
  version: string;
  diagnoses: Diagnosis[];
  boards: Board[];
  comparisons: Experiment[];
  experiments: Experiment[];
  tables: string | null;
}

/** The response of a learner on a sample, or null where it is missing. */
export function response(of: Diagnosis, sample: number, learner: number): number | null {
  const at = sample * of.learners.name.length + learner;
  if (of.samples.seen && !of.samples.seen[at]) return null;
  return of.binary ? of.samples.right[at] : of.samples.right[at] / 254;
}

/** The response that the diagnosis expects, from its matrix or, in a large page, from its own logits. */
export function chance(of: Diagnosis, sample: number, learner: number): number | null {
  const { chance: matrix, line } = of.samples;
  if (matrix) return matrix[sample * of.learners.name.length + learner] / 254;
  if (!line) return null;
  const n = line.slope.length / line.level.length;
  let logit = line.level[sample];
  for (let k = 0; k < n; k++) logit += line.slope[sample * n + k] * line.place[learner * n + k];
  return 1 / (1 + Math.exp(-logit));
}

/** The skills that a sample needs. */
export function skillsOf(of: Diagnosis, sample: number): number[] {
  if (!of.samples.needs) return [];
  const k = of.skills.name.length;
  return of.skills.name.flatMap((_, skill) => (of.samples.needs![sample * k + skill] ? [skill] : []));
}

export function flagsOf(of: Diagnosis, sample: number): string[] {
  return Object.keys(of.samples.flags).filter((name) => of.samples.flags[name][sample]);
}
