import assert from "node:assert/strict";
import { test } from "node:test";
import { mcnemar, quantile } from "../src/statistics";

test("without a discordant sample there is no evidence", () => {
  assert.equal(mcnemar(0, 0), 1);
});

test("quantiles pass over what is missing", () => {
  assert.equal(quantile([4, NaN, 1, 2, 3], 0.5), 2.5);
  assert.ok(Number.isNaN(quantile([NaN], 0.5)));
});
