import { s } from "./dom";

const COPIED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity",
  "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order",
];

export function save(content: BlobPart, type: string, file: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = file;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The chart as a file of its own: colours and fonts written out, the canvas beneath it as an image. */
export function standalone(plot: Element): string {
  const svg = plot.querySelector("svg")!;
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const property of COPIED) {
      const value = style.getPropertyValue(property);
      if (value) element.setAttribute(property, value);
    }
    for (const attribute of ["class", "tabindex", "href", "style"]) element.removeAttribute(attribute);
  });
  for (const control of copy.querySelectorAll("[role=checkbox]")) control.remove();
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const canvas = plot.querySelector("canvas");
  if (canvas) {
    const [x, y, w, h] = ["x", "y", "w", "h"].map((key) => Number(canvas.dataset[key]));
    copy.prepend(s("image", { href: canvas.toDataURL("image/png"), x, y, width: w, height: h }));
  }
  const paper = getComputedStyle(plot).getPropertyValue("--card").trim() || "white";
  copy.prepend(s("rect", { width, height, fill: paper }));
  return new XMLSerializer().serializeToString(copy);
}

export function savePng(plot: Element, file: string): void {
  const svg = plot.querySelector("svg")!;
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  const url = URL.createObjectURL(new Blob([standalone(plot)], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => blob && save(blob, "image/png", file));
  };
  image.src = url;
}
