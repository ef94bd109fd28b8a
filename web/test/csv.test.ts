import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, csv } from "../src/csv";

test("text that a spreadsheet would run starts with an apostrophe", () => {
  for (const text of ["=cmd()", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1"]) assert.ok(cell(text).replace(/^"/, "").startsWith("'"), JSON.stringify(text));
});

test("numbers stay numbers, also negative ones, and what is missing is empty", () => {
  assert.equal(cell(-1.5), "-1.5");
  assert.equal(cell(NaN), "");
  assert.equal(cell(null), "");
});

test("quotes, commas and line ends are quoted as RFC 4180 says", () => {
  assert.equal(cell('say "a, b"'), '"say ""a, b"""');
  assert.equal(csv(["a", "b"], [["x\ny", 1]]), '\ufeffa,b\r\n"x\ny",1\r\n');
});
