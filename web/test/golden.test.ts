import assert from "node:assert/strict";
import { test } from "node:test";
import { binomialCdf, fromCounts, logGamma, mcnemar, mcnemarPower, normalCdf, normalQuantile, quantile, samplesFor, samplesForMeans, tango, twoSided } from "../src/statistics";
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

test("the power of McNemar's exact test is that of SciPy's binomial", () => {
  for (const { discordance, difference, n, power } of golden.power) near(mcnemarPower(discordance, difference, n), power, n < 1000 ? 1e-9 : 2e-4);
});

test("as many samples are asked for as camilla power asks for", () => {
  // beyond some thousand samples the page skips between numbers of flips, which moves the answer by a few
  for (const { discordance, difference, samples } of golden.samples) near(samplesFor(discordance, difference)!, samples, Math.max(1, 0.002 * samples));
  for (const { sd, difference, samples } of golden.samples_of_means) near(samplesForMeans(sd, difference)!, samples, Math.max(1, 0.002 * samples));
});

test("no number of samples shows what cannot be", () => {
  assert.equal(samplesFor(0.1, 0), null);
  assert.equal(samplesFor(0.1, 0.2), null);
  assert.equal(samplesForMeans(0.3, 0), null);
});

test("binomial tails agree with their sums", () => {
  near(Math.exp(logGamma(6)), 120, 1e-10);
  near(binomialCdf(2, 10, 0.5), (1 + 10 + 45) / 1024, 1e-14);
  near(binomialCdf(0, 4, 0.3), 0.7 ** 4, 1e-14);
  near(normalQuantile(0.975), golden.critical, 1e-6);
});
