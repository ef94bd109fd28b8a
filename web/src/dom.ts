import { brief, shown } from "./text";

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void) | Record<string, string>>;

/** An element with text children only ever as text: no string becomes markup. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return dressed(document.createElement(tag), attributes, children);
}

export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function dressed<E extends HTMLElement | SVGElement>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    else if (typeof value === "object") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

/** A name from the data: isolated from the direction of the text around it, whole in its title. */
export function name(text: string, longest = Infinity): HTMLElement {
  const letters = brief(text, longest);
  return h("bdi", { class: letters.length <= 30 ? "name short" : "name", title: shown(text) }, letters);
}

export function link(href: string, ...children: Child[]): HTMLAnchorElement {
  return h("a", { href }, ...children);
}

let view = new AbortController();

/** Ends the view: what was listened to with `whileShown` is let go, so that the view's nodes can be freed. */
export function endView(): void {
  view.abort();
  view = new AbortController();
}

/** Listens on the window for as long as the view is shown. */
export function whileShown(event: string, act: () => void): void {
  addEventListener(event, act, { signal: view.signal });
}

/** Watches the size of an element for as long as the view is shown. */
export function whileSized(element: Element, act: (width: number) => void): void {
  const observer = new ResizeObserver((entries) => act(entries[0].contentRect.width));
  observer.observe(element);
  view.signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}
