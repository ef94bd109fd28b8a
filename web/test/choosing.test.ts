import assert from "node:assert/strict";
import { test } from "node:test";
import { chanceBest, chanceBetter, frontier, mixed, scoreOf, unpackedDraws } from "../src/choosing";

// two draws, three learners, two skills
const values = Float32Array.of(0.9, 0.1, 0.5, 0.5, 0.1, 0.9, 0.8, 0.2, 0.5, 0.5, 0.4, 0.8);

test("weights decide who is best", () => {
  assert.deepEqual(chanceBest(mixed(values, 3, [1, 0]), () => true), [1, 0, 0]);
  assert.deepEqual(chanceBest(mixed(values, 3, [0, 1]), () => true), [0, 0, 1]);
  assert.deepEqual(chanceBest(mixed(values, 3, [1, 0]), (i) => i > 0), [0, 1, 0]);
});

test("learners that tie share the draw, and no weight at all is equal weights", () => {
  const equal = mixed(values, 3, [0, 0]);
  assert.deepEqual([...equal.score].map((one) => Math.round(1000 * one) / 1000), [0.5, 0.5, 0.5, 0.5, 0.5, 0.6]);
  const found = chanceBest(equal, () => true);
  assert.ok(Math.abs(found[2] - (1 / 3 + 1) / 2) < 1e-6, String(found));
  assert.equal(chanceBetter(equal, 0, 1), 0.5);
});

test("draws are unpacked as they were packed", () => {
  const draws = { skills: ["a", "b"], learners: Uint32Array.of(0), n: 2, mean: Float32Array.of(0.5, 0.25), step: Float32Array.of(0.01, 0.02), steps: Uint8Array.of(128, 129, 118, 128), source: "" };
  assert.deepEqual([...unpackedDraws(draws)].map((one) => Number(one.toFixed(4))), [0.5, 0.27, 0.4, 0.25]);
});

test("a score is the mean of its draws, within their middle 95 %", () => {
  const mix = mixed(Float32Array.from({ length: 101 }, (_, i) => i / 100), 1, [1]);
  const found = scoreOf(mix, 0);
  assert.ok(Math.abs(found.value - 0.5) < 1e-6 && Math.abs(found.low - 0.025) < 1e-6 && Math.abs(found.high - 0.975) < 1e-6);
});

test("the frontier has those that nobody beats for the same money", () => {
  assert.deepEqual(frontier([1, 2, 3, 2, NaN], [0.5, 0.4, 0.9, 0.7, 1]), [0, 3, 2]);
  assert.deepEqual(frontier([1, 1], [0.5, 0.6]), [1]);
});
