import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, to } from "../src/route";

test("any name goes through the address and back", () => {
  for (const name of ["svm poly", "a=b&c#d?e", "</script>", "שלום\u202e", "100 %", "+1"]) {
    assert.deepEqual(parse(to("learner", { name })), { page: "learner", query: { name } });
  }
});

test("an empty address is the summary, and what is not set is left out", () => {
  assert.deepEqual(parse(""), { page: "summary", query: {} });
  assert.equal(to("samples", { q: "", flag: null, d: undefined }), "#/samples");
});
