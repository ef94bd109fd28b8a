import { h } from "./dom";

let bubble: HTMLElement | null = null;

/** Lines of text beside the pointer or the focused mark; the first is the heading. */
export function tell(lines: string[], x: number, y: number): void {
  bubble ??= document.body.appendChild(h("div", { class: "tip", role: "tooltip", id: "tip" }));
  bubble.replaceChildren(...lines.map((line, i) => h(i ? "div" : "strong", {}, line)));
  bubble.hidden = false;
  const { width, height } = bubble.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const top = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
  bubble.style.left = `${Math.max(4, left)}px`;
  bubble.style.top = `${Math.max(4, top)}px`;
}

export function hush(): void {
  if (bubble) bubble.hidden = true;
}

/** Shows the lines on hover and on keyboard focus. */
export function explained<E extends Element>(mark: E, lines: () => string[]): E {
  mark.addEventListener("pointermove", (event) => tell(lines(), (event as PointerEvent).clientX, (event as PointerEvent).clientY));
  mark.addEventListener("pointerleave", hush);
  mark.addEventListener("focus", () => {
    const box = mark.getBoundingClientRect();
    tell(lines(), box.right - 10, box.bottom - 10);
  });
  mark.addEventListener("blur", hush);
  return mark;
}

/** What a screen reader says of a mark: its lines, after the text it shows if there is any. */
export function spoken(lines: string[], shownText: string): Record<string, string> {
  return shownText ? { "aria-description": lines.slice(1).join("; ") } : { "aria-label": lines.join("; ") };
}

export function hushOnEscape(): void {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hush();
  });
}
