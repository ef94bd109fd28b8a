import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, fileName, interval, number, ownParts, pValue, percent, shown } from "../src/text";

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

test("long names lose the words they share at their end, if that leaves them apart", () => {
  const tail = ",level=1,use_chain_of_thought=True";
  assert.deepEqual(ownParts([`math:subject=prealgebra${tail}`, "gsm:", `math:subject=algebra${tail}`]), ["math:subject=prealgebra…", "gsm:", "math:subject=algebra…"]);
  assert.deepEqual(ownParts(["wmt_14:language_pair=cs-en", "wmt_14:language_pair=de-en"]), ["wmt_14:language_pair=cs-en", "wmt_14:language_pair=de-en"]);
  assert.deepEqual(ownParts(["short: end", "other: end"]), ["short: end", "other: end"]);
  const same = ["one and the same long name: end", "one and the same long name: end"];
  assert.deepEqual(ownParts(same), same);
  assert.deepEqual(ownParts([]), []);
});

test("any text gives a file name", () => {
  assert.equal(fileName("Who beats whom?", "svg"), "who-beats-whom.svg");
  assert.equal(fileName("../../</script>", "csv"), "script.csv");
  assert.equal(fileName("שלום", "csv"), "camilla.csv");
});
