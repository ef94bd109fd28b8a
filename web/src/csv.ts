export type Cell = string | number | null;

/** A cell that no spreadsheet takes for a formula: text that starts with = + - @, tab or return gets an apostrophe. */
export function cell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const safe = /^\s*[=+\-@\t\r＝＋－＠]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** RFC 4180, with a byte-order mark so that spreadsheets read UTF-8. */
export function csv(header: string[], rows: Iterable<Cell[]>): string {
  const lines = [header.map(cell).join(",")];
  for (const row of rows) lines.push(row.map(cell).join(","));
  return "\ufeff" + lines.join("\r\n") + "\r\n";
}
