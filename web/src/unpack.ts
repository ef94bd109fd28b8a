import type { Report } from "./model";

interface Column {
  type: "float32" | "uint8" | "uint16" | "uint32" | "int32" | "bits" | "rounded";
  length: number;
  at: number;
  zero?: number;
  step?: number;
}

const MISSING = -32768;

/** The document behind base64 of zlib; see `packing.py` for the layout. */
export async function unpacked(text: string): Promise<Report> {
  const bytes = await inflated(Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0)));
  return parsed(bytes);
}

export async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function parsed(bytes: Uint8Array<ArrayBuffer>): Report {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  const columns = (header.$ as Column[]).map((column) => revived(bytes, bytes.byteOffset + start + column.at, column));
  return filled(header.document, columns) as Report;
}

function filled(value: unknown, columns: unknown[]): unknown {
  if (Array.isArray(value)) return value.map((one) => filled(one, columns));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value);
  if (entries.length === 1 && entries[0][0] === "$") return columns[entries[0][1] as number];
  return Object.fromEntries(entries.map(([key, one]) => [key, filled(one, columns)]));
}

function revived(bytes: Uint8Array<ArrayBuffer>, at: number, column: Column): unknown {
  const { length } = column;
  switch (column.type) {
    case "bits":
      return bits(new Uint8Array(bytes.buffer, at, Math.ceil(length / 8)), length);
    case "rounded":
      return rounded(new Uint8Array(bytes.buffer, at, 2 * length), column.zero!, column.step!);
    case "float32":
      return new Float32Array(bytes.buffer, at, length);
    case "uint8":
      return new Uint8Array(bytes.buffer, at, length);
    case "uint16":
      return new Uint16Array(bytes.buffer, at, length);
    case "uint32":
      return new Uint32Array(bytes.buffer, at, length);
    case "int32":
      return new Int32Array(bytes.buffer, at, length);
  }
}

export function bits(packed: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = (packed[i >> 3] >> (7 - (i & 7))) & 1;
  return out;
}

/** zero + step · stored, where the low bytes of all numbers come before the high bytes. */
export function rounded(planes: Uint8Array, zero: number, step: number): Float32Array {
  const length = planes.length / 2;
  const out = new Float32Array(length);
  for (let i = 0; i < length; i++) {
    const stored = ((planes[i] | (planes[length + i] << 8)) << 16) >> 16;
    out[i] = stored === MISSING ? NaN : zero + step * stored;
  }
  return out;
}
