import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, csv, decimal, latex, markdown } from "../src/csv";

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

test("a number stored in 32 bits is written without the noise of 64", () => {
  const stored = Float32Array.of(0.1, -1.234, 0.9883, 1 / 3, 16777216, 3e-9);
  assert.deepEqual(Array.from(stored, decimal), ["0.1", "-1.234", "0.9883", "0.33333334", "16777216", "3e-9"]);
  for (const one of stored) assert.equal(Math.fround(Number(decimal(one))), one);
  assert.equal(decimal(0.1), "0.1");
  assert.equal(decimal(0.30000000000000004), "0.30000000000000004");
});

test("a copied table is GitHub's or booktabs', and no name in it is markup", () => {
  const [header, rows, numeric] = [["learner", "score"], [["a|b_<i>", "−1.50"], ["50 % & $x^2$", "2.00"]], [false, true]];
  assert.equal(markdown(header, rows, numeric), "| learner | score |\n|---|---:|\n| a\\|b\\_\\<i\\> | −1.50 |\n| 50 % \\& $x^2$ | 2.00 |\n");
  assert.equal(
    latex(header, rows, numeric),
    "\\begin{tabular}{lr}\n\\toprule\nlearner & score \\\\\n\\midrule\na|b\\_\\textless{}i\\textgreater{} & $-$1.50 \\\\\n50 \\% \\& \\$x\\textasciicircum{}2\\$ & 2.00 \\\\\n\\bottomrule\n\\end{tabular}\n",
  );
});
