export type Cell = string | number | null;

/** A cell that no spreadsheet takes for a formula: text that starts with = + - @, tab or return gets an apostrophe. */
export function cell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return decimal(value);
  const safe = /^\s*[=+\-@\t\r＝＋－＠]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The fewest digits that stand for the number; of one that was stored in 32 bits, without the noise of 64. */
export function decimal(value: number): string {
  if (!Number.isFinite(value)) return "";
  if (Math.fround(value) !== value || Number.isInteger(value)) return String(value);
  for (let digits = 5; digits < 9; digits++) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return String(text);
  }
  return String(value);
}

/** RFC 4180, with a byte-order mark so that spreadsheets read UTF-8. */
export function csv(header: string[], rows: Iterable<Cell[]>): string {
  const lines = [header.map(cell).join(",")];
  for (const row of rows) lines.push(row.map(cell).join(","));
  return "\ufeff" + lines.join("\r\n") + "\r\n";
}

/** A GitHub table; what could be read as markup is not. */
export function markdown(header: string[], rows: string[][], numeric: boolean[]): string {
  const safe = (text: string) => text.replaceAll(/\s+/g, " ").replaceAll(/[\\|`*_[\]<>&]/g, (c) => `\\${c}`);
  const line = (cells: string[]) => `| ${cells.map(safe).join(" | ")} |`;
  return [line(header), `|${numeric.map((right) => (right ? "---:" : "---")).join("|")}|`, ...rows.map(line)].join("\n") + "\n";
}

const TEX: Record<string, string> = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "−": "$-$", "–": "--", "<": "\\textless{}", ">": "\\textgreater{}" };

/** A tabular with the rules of booktabs. */
export function latex(header: string[], rows: string[][], numeric: boolean[]): string {
  const safe = (text: string) => text.replaceAll(/\s+/g, " ").replaceAll(/[\\&%$#_{}~^−–<>]/g, (c) => TEX[c] ?? `\\${c}`);
  const line = (cells: string[]) => `${cells.map(safe).join(" & ")} \\\\`;
  const columns = numeric.map((right) => (right ? "r" : "l")).join("");
  return [`\\begin{tabular}{${columns}}`, "\\toprule", line(header), "\\midrule", ...rows.map(line), "\\bottomrule", "\\end{tabular}"].join("\n") + "\n";
}
