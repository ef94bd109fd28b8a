import assert from "node:assert/strict";
import { test } from "node:test";
import { fromCounts, mcnemar, normalCdf, quantile, twoSided } from "../src/statistics";

const near = (a: number, b: number, tolerance: number) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

test("the normal distribution to the seven digits its approximation promises", () => {
  // scipy.stats.norm.cdf
  near(normalCdf(0), 0.5, 2e-7);
  near(normalCdf(1.959963985), 0.975, 2e-7);
  near(normalCdf(-3), 0.001349898, 2e-7);
  near(twoSided(2.5), 0.012419331, 4e-7);
});

test("McNemar's exact test is the two-sided binomial test", () => {
  // scipy.stats.binomtest(k, n, .5).pvalue; exact up to rounding
  near(mcnemar(6, 5), 1, 1e-12);
  near(mcnemar(19, 8), 0.052238985896110535, 1e-12);
  near(mcnemar(0, 10), 0.001953125, 1e-15);
  near(mcnemar(1000, 900), 0.023108845108901193, 1e-12);
  assert.equal(mcnemar(0, 0), 1);
});

test("the paired difference of two records, against its definition", () => {
  // d = 1 three times, −1 once, 0 six times: mean .2, variance (4 − 10·.04)/9
  const found = fromCounts(10, 3, 1);
  near(found.mean, 0.2, 1e-12);
  near(found.se, Math.sqrt((4 - 0.4) / 9 / 10), 1e-12);
});

test("quantiles interpolate and pass over what is missing", () => {
  assert.equal(quantile([4, NaN, 1, 2, 3], 0.5), 2.5);
  assert.ok(Number.isNaN(quantile([NaN], 0.5)));
});
