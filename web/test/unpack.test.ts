import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { bits, rounded, unpacked } from "../src/unpack";

test("bits come out from the highest of each byte", () => assert.deepEqual([...bits(Uint8Array.of(0b10100000, 0b10000000), 9)], [1, 0, 1, 0, 0, 0, 0, 0, 1]));

test("rounded numbers: low bytes, then high bytes, −32768 is missing", () => {
  const stored = [0, 1, -1, -32768];
  const planes = Uint8Array.from([...stored.map((n) => n & 255), ...stored.map((n) => (n >> 8) & 255)]);
  assert.deepEqual([...rounded(planes, 10, 0.5)], [10, 10.5, 9.5, NaN]);
});

test("a document comes back with its arrays in place", async () => {
  const header = new TextEncoder().encode(JSON.stringify({ document: { a: { x: { $: 0 } }, names: ["<b>"] }, $: [{ type: "float32", length: 2, at: 0 }] }));
  const start = Math.ceil((4 + header.length) / 8) * 8;
  const whole = new Uint8Array(start + 8);
  new DataView(whole.buffer).setUint32(0, header.length, true);
  whole.set(header, 4);
  whole.set(new Uint8Array(Float32Array.of(1.5, -2).buffer), start);
  const found = (await unpacked(deflateSync(whole).toString("base64"))) as unknown as { a: { x: Float32Array }; names: string[] };
  assert.deepEqual([...found.a.x], [1.5, -2]);
  assert.deepEqual(found.names, ["<b>"]);
});
