import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, briefLabels, fileName, interval, labels, number, pValue, percent, shown } from "../src/text";

test("numbers have a real minus sign, and no minus zero", () => {
  assert.equal(number(-1.234), "−1.23");
  assert.equal(number(-0.001), "0.00");
  assert.equal(number(NaN), "");
  assert.equal(number(null), "");
});

test("an interval that is not known is left out", () => {
  assert.equal(interval(1, 0.5, 1.5), "1.00 (0.50 to 1.50)");
  assert.equal(interval(1, NaN, NaN), "1.00");
});

test("percent signs stay with their number, small p-values are bounded", () => {
  assert.equal(percent(0.988), "98.8\u00a0%");
  assert.equal(pValue(0.0004), "< .001");
  assert.equal(pValue(0.0524), ".052");
});

test("marks that turn text round are spelled out", () => {
  assert.equal(shown("a\u202eb\u0007"), "a\\u202eb\\x07");
  assert.equal(shown("שלום é 😀"), "שלום é 😀");
});

test("a long name loses its middle, between characters and not inside one", () => {
  assert.equal(brief("😀😀😀😀", 3), "😀…😀");
  assert.equal(brief("wmt_14:language_pair=cs-en", 12), "wmt_14…cs-en");
  assert.equal(brief("abcdef", 1), "a…");
  assert.equal(brief("abc", 3), "abc");
});

const tail = ",level=1,use_chain_of_thought=True";
const subjects = ["algebra", "counting_and_probability", "geometry", "intermediate_algebra", "number_theory", "prealgebra", "precalculus"];

test("long names lose the words they share at their end", () => {
  const names = [`math:subject=prealgebra${tail}`, "gsm:", `math:subject=algebra${tail}`];
  assert.deepEqual(briefLabels(names, 24), ["math:subject=prealgebra…", "gsm:", "math:subject=algebra…"]);
  assert.deepEqual(briefLabels(["short: end", "other: end"], 24), ["short: end", "other: end"]);
  assert.deepEqual(briefLabels([], 24), []);
});

test("no two names of a chart get the same label, however little room there is", () => {
  const lists = [
    subjects.map((one) => `math:subject=${one}${tail}`),
    ["wmt_14:language_pair=cs-en", "wmt_14:language_pair=de-en", "wmt_14:language_pair=fr-en"],
    Array.from({ length: 120 }, (_, i) => `20240402_sweagent_with_a_long_name_${i % 2 ? "claude" : "gpt4"}_run_${i}_verified_${i % 3}_and_the_same_end`),
    Array.from({ length: 40 }, (_, i) => "x".repeat(60) + (i ? "y".repeat(i) : "") + "z".repeat(60)),
    [10, 50, 100].flatMap((n) => ["gini", "entropy"].flatMap((how) => [3, 5, "None"].flatMap((deep) => ["log2", "sqrt", "None"].map((most) => `random_forest_${n}_${how}_${deep}_${most}_1`)))),
    ["😀".repeat(40), "😀".repeat(41), "a\u202eb".repeat(30), "a\u202eb".repeat(31)],
  ];
  for (const names of lists)
    for (const room of [60, 24, 18, 12, 9]) {
      const found = briefLabels(names, room);
      assert.equal(new Set(found).size, names.length, `${room}: ${found.join(" | ")}`);
      for (const one of found) assert.ok([...one].length <= room, `${one} is longer than ${room}`);
    }
});

test("names that agree at both ends keep what tells them apart", () => {
  const found = briefLabels(subjects.map((one) => `math:subject=${one}${tail}`), 18);
  assert.ok(found[0].includes("algebra"), found[0]);
  assert.ok(found[2].includes("geometry"), found[2]);
});

test("names that differ in many words keep the first letters of those", () => {
  const names = ["gini", "entropy"].flatMap((how) => ["log2", "sqrt"].map((most) => `random_forest_100_${how}_5_${most}_1`));
  assert.deepEqual(briefLabels(names, 16), ["…gini…log2…", "…gini…sqrt…", "…entropy…log2…", "…entropy…sqrt…"]);
  assert.deepEqual(briefLabels(names, 9), ["…g…l…", "…g…s…", "…e…l…", "…e…s…"]);
});

test("a name that fits stays whole, and equal names stay equal", () => {
  assert.deepEqual(labels(["a", "b"], () => true), ["a", "b"]);
  const same = ["one and the same long name: end", "one and the same long name: end"];
  const found = briefLabels(same, 12);
  assert.equal(found[0], found[1]);
});

test("any text gives a file name", () => {
  assert.equal(fileName("Who beats whom?", "svg"), "who-beats-whom.svg");
  assert.equal(fileName("../../</script>", "csv"), "script.csv");
  assert.equal(fileName("שלום", "csv"), "camilla.csv");
});
