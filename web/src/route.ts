export interface Route {
  page: string;
  query: Record<string, string>;
}

/** "#/learner?name=svm+poly" as a page and its settings. */
export function parse(hash: string): Route {
  const [path, text = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { page: path || "summary", query: Object.fromEntries(new URLSearchParams(text)) };
}

export function to(page: string, query: Record<string, string | number | null | undefined> = {}): string {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

/** Puts settings of the view into the address without leaving it. */
export function remember(changes: Record<string, string | number | null | undefined>): void {
  const { page, query } = parse(location.hash);
  history.replaceState(null, "", to(page, { ...query, ...changes }));
}

/** The address of the view with some settings changed: all others stay as they are now. */
export function changed(changes: Record<string, string | number | null | undefined>): string {
  const { page, query } = parse(location.hash);
  return to(page, { ...query, ...changes });
}
