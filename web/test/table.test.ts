import assert from "node:assert/strict";
import { test } from "node:test";
import { binned } from "../src/charts/histogram";
import { nearest } from "../src/charts/cloud";
import { lanes, runsOf } from "../src/charts/forest";
import { sorted } from "../src/table";

test("what is missing comes last in either direction", () => {
  const values = [2, NaN, 3, 1];
  assert.deepEqual(sorted([0, 1, 2, 3], (i) => values[i], false), [3, 0, 2, 1]);
  assert.deepEqual(sorted([0, 1, 2, 3], (i) => values[i], true), [2, 0, 3, 1]);
});

test("names with numbers sort as people count", () => {
  const names = ["tree 10", "tree 9", "Tree 1"];
  assert.deepEqual(sorted([0, 1, 2], (i) => names[i], false), [2, 1, 0]);
  const foreign = ["élan 10", "elan 9", "zebra"];
  assert.deepEqual(sorted([0, 1, 2], (i) => foreign[i], false), [1, 0, 2]);
});

test("equal rows keep their order", () => assert.deepEqual(sorted([3, 1, 2], () => 0, true), [3, 1, 2]));

test("sets that overlap stand side by side, and only rows in sight count", () => {
  const found = lanes([[0, 1, 2, 5], [2, 3], [6, 7, 12], [11, 12]], 12);
  assert.deepEqual(found.places, [
    { rows: [0, 1, 2, 5], lane: 0 },
    { rows: [2, 3], lane: 1 },
    { rows: [6, 7], lane: 0 },
  ]);
  assert.deepEqual(runsOf([0, 1, 2, 5]), [[0, 2], [5, 5]]);
});

test("the nearest point within reach, or none", () => {
  const [x, y] = [Float32Array.of(0, 10, NaN), Float32Array.of(0, 0, 0)];
  assert.equal(nearest(x, y, 8, 0, 5), 1);
  assert.equal(nearest(x, y, 50, 50, 5), -1);
});

test("a share of exactly 1 is counted in the last step", () => assert.deepEqual(binned([0, 0.5, 1, NaN], 2), [1, 2]));

test("fifty thousand names are sorted in well under a second", () => {
  // a new collator for each comparison takes 3.6 s of CPU
  for (const letter of ["s", "é"]) {
    const names = Array.from({ length: 50_000 }, (_, i) => `${letter}ample ${(i * 7919) % 50_000} of set ${i % 7}`);
    const start = process.cpuUsage();
    const found = sorted(names.map((_, i) => i), (i) => names[i], false);
    const { user } = process.cpuUsage(start);
    assert.equal(names[found[0]], `${letter}ample 0 of set 0`);
    assert.equal(names[found[49_999]].split(" ")[1], "49999");
    assert.ok(user < (letter === "s" ? 0.6e6 : 1.8e6), `${user / 1e6} s`);
  }
});
