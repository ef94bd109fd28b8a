import { h, whileShown, whileSized } from "./dom";
import { save, savePng, standalone } from "./save";
import { fileName } from "./text";

export interface FigureOptions {
  title: string;
  note?: string;
  wide?: boolean;
  tools?: Node[];
  draw: (width: number) => Plot;
}

/** A drawing: an SVG, with a canvas beneath it where there are many marks. */
export interface Plot {
  svg: SVGSVGElement;
  canvas?: HTMLCanvasElement;
}

/** A card with a chart that follows its width and saves itself as SVG and PNG. */
export function figure(options: FigureOptions): HTMLElement & { redraw: () => void } {
  const plot = h("div", { class: "plot" });
  const button = (label: string, act: () => void) =>
    h("button", { class: "small", type: "button", "aria-label": `Save chart as ${label}: ${options.title}`, onclick: act }, label);
  const card = h(
    "section",
    { class: options.wide ? "card wide" : "card" },
    h(
      "header",
      { class: "bar" },
      h("h2", {}, options.title),
      h(
        "span",
        { class: "tools" },
        ...(options.tools ?? []),
        button("SVG", () => save(standalone(plot), "image/svg+xml", fileName(options.title, "svg"))),
        button("PNG", () => savePng(plot, fileName(options.title, "png"))),
      ),
    ),
    options.note ? h("p", { class: "quiet note" }, options.note) : null,
    plot,
  );
  let width = 0;
  const redraw = () => {
    if (width < 40) return;
    const { svg, canvas } = options.draw(width);
    if (!svg.hasAttribute("aria-label")) svg.setAttribute("aria-label", options.title);
    plot.replaceChildren(...(canvas ? [canvas, svg] : [svg]));
  };
  whileSized(plot, (wide) => {
    const now = Math.floor(wide);
    if (Math.abs(now - width) < 2) return;
    width = now;
    redraw();
  });
  whileShown("themechange", redraw);
  return Object.assign(card, { redraw });
}
