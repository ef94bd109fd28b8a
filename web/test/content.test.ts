import assert from "node:assert/strict";
import { test } from "node:test";
import { answersOf, type Content, spelled, verdictOnKey, whatIsHeld } from "../src/content";
import type { Diagnosis } from "../src/model";
import { decidingSamples } from "../src/pages/deciding";

const content = (changes: Partial<Content>): Content => ({
  prompt: [], key: ["C", "", "B"], other: ["B", "B", "B"], votes: new Uint32Array([18, 1, 6]), known: new Uint32Array([25, 1, 25]),
  where: new Int32Array(3), pieces: [], folder: null, embedded: 3, beside: 0, left_out: 0, ...changes,
});

test("a sentence names the votes, the key, and scoring that contradicts itself", () => {
  assert.equal(verdictOnKey(content({}), 0), "18 of 25 learners answered “B”; the key says “C”.");
  assert.equal(verdictOnKey(content({}), 1), "The most frequent wrong answer: 1 of 1 learner answered “B”.");
  assert.match(verdictOnKey(content({}), 2)!, /which is the reference itself/);
  assert.equal(verdictOnKey(content({ other: ["", "", ""] }), 0), null);
});

test("what is held is said in one sentence", () => {
  assert.equal(whatIsHeld(content({})), "Prompts and answers of 3 samples are in this page.");
  assert.equal(
    whatIsHeld(content({ beside: 4, left_out: 1, folder: "r_files" })),
    "Prompts and answers of 3 of 8 samples are in this page; those of 4 are beside it in r_files; those of 1 were left out because they are too large.",
  );
});

test("line ends and tabs stay, other controls are spelled out", () => {
  assert.equal(spelled("a\r\nb\tc\u202ed\u0000"), "a\nb\tc\\u202ed\\x00");
});

test("texts are told once; learners that the page does not know are left out", () => {
  const record = { sample: "s", texts: ["x", "y"], answers: { learner: [2, -1], answer: [1, 0], extracted: [-1, 0] } };
  assert.deepEqual(answersOf(record), [{ learner: 2, trial: null, answer: "y", extracted: "", reason: "" }]);
});

test("deciding samples come by discrimination, unknown ones last", () => {
  const of = {
    binary: true, learners: { name: ["a", "b"] },
    samples: { name: ["p", "q", "r", "s"], seen: null, right: Uint8Array.from([1, 0, 0, 1, 1, 1, 1, 0]), discrimination: Float32Array.from([1, 2, 9, NaN]), accuracy: Float32Array.from([0.5, 0.5, 0.5, 0.5]) },
  } as unknown as Diagnosis;
  assert.deepEqual(decidingSamples(of, 0, 1), [1, 0, 3]);
});
