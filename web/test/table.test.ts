import assert from "node:assert/strict";
import { test } from "node:test";
import { binned } from "../src/charts/histogram";
import { nearest } from "../src/charts/cloud";
import { lanes } from "../src/charts/forest";
import { sorted } from "../src/table";

test("what is missing comes last in either direction", () => {
  const values = [2, NaN, 3, 1];
  assert.deepEqual(sorted([0, 1, 2, 3], (i) => values[i], false), [3, 0, 2, 1]);
  assert.deepEqual(sorted([0, 1, 2, 3], (i) => values[i], true), [2, 0, 3, 1]);
});

test("names with numbers sort as people count", () => {
  const names = ["tree 10", "tree 9", "Tree 1"];
  assert.deepEqual(sorted([0, 1, 2], (i) => names[i], false), [2, 1, 0]);
});

test("equal rows keep their order", () => assert.deepEqual(sorted([3, 1, 2], () => 0, true), [3, 1, 2]));

test("runs that overlap stand side by side", () => {
  const found = lanes([[0, 8], [2, 9], [9, 12]], 12);
  assert.deepEqual(found.places, [
    { first: 0, last: 8, lane: 0 },
    { first: 2, last: 9, lane: 1 },
    { first: 9, last: 11, lane: 0 },
  ]);
});

test("the nearest point within reach, or none", () => {
  const [x, y] = [Float32Array.of(0, 10, NaN), Float32Array.of(0, 0, 0)];
  assert.equal(nearest(x, y, 8, 0, 5), 1);
  assert.equal(nearest(x, y, 50, 50, 5), -1);
});

test("a share of exactly 1 is counted in the last step", () => assert.deepEqual(binned([0, 0.5, 1, NaN], 2), [1, 2]));
