import assert from "node:assert/strict";
import { test } from "node:test";
import { fromCounts, mcnemar, normalCdf, quantile, tango, twoSided } from "../src/statistics";
import golden from "./golden.json";

// golden.json is SciPy's: scripts/golden_statistics.py makes it, and tests/statistics/test_golden.py holds Python to it.

const near = (found: number, wanted: number, tolerance: number) => assert.ok(Math.abs(found - wanted) <= tolerance, `${found} is not ${wanted}`);

test("McNemar's exact test is SciPy's binomial test, to ten digits", () => {
  for (const { won, lost, p } of golden.mcnemar) near(mcnemar(won, lost), p, 1e-10 * p);
});

test("Tango's interval solves its equation", () => {
  // the golden ends come from a numerical maximum, good to about 1e-8
  for (const { won, lost, n, low, high } of golden.tango) {
    const found = tango(won, lost, n, golden.critical);
    near(found[0], low, 1e-7);
    near(found[1], high, 1e-7);
    const whole = fromCounts(n, won, lost, golden.critical);
    assert.deepEqual([whole.low, whole.high], found);
    near(whole.mean, (won - lost) / n, 1e-15);
  }
});

test("the normal distribution has the seven digits that its approximation promises", () => {
  for (const { z, cdf, two_sided } of golden.normal) {
    near(normalCdf(z), cdf, 2e-7 * cdf);
    near(twoSided(z), two_sided, 2e-7 * Math.max(two_sided, 1e-300));
  }
});

test("quantiles are NumPy's", () => {
  for (const { values, q, value } of golden.quantile) near(quantile(values, q), value, 1e-12);
});
