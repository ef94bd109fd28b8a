import { colour } from "./charts/axes";
import { h } from "./dom";
import type { Diagnosis, Report } from "./model";
import { save } from "./save";
import { brief, count, fileName, labels, number, percent } from "./text";

/** Puts text on the clipboard; a file opened without a server may need the older way. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedByHand(text);
  }
}

function copiedByHand(text: string): boolean {
  const field = h("textarea", { class: "unseen", readonly: true });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

export interface MenuItem {
  label: string;
  about: string; // what a screen reader says
  act: () => void;
}

/** A button that opens a short list of commands; Escape, a choice or a click elsewhere closes it. */
export function menu(label: string, about: string, items: MenuItem[]): HTMLElement {
  const list = h("div", { class: "menu-list", role: "group", "aria-label": about, hidden: true });
  const button = h("button", { class: "small", type: "button", "aria-expanded": "false", "aria-label": about, onclick: () => show(list.hasAttribute("hidden")) }, label);
  const show = (open: boolean) => {
    list.toggleAttribute("hidden", !open);
    button.setAttribute("aria-expanded", String(open));
    if (open) list.querySelector("button")?.focus();
  };
  const command = (one: MenuItem) => () => {
    show(false);
    button.focus();
    one.act();
  };
  list.append(...items.map((one) => h("button", { type: "button", "aria-label": one.about, onclick: command(one) }, one.label)));
  const box = h("span", { class: "menu" }, button, list);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || list.hasAttribute("hidden")) return;
    show(false);
    button.focus();
    event.stopPropagation();
  });
  box.addEventListener("focusout", (event) => {
    if (!box.contains(event.relatedTarget as Node | null)) show(false);
  });
  return box;
}

const SENTENCES = ".findings article p, header.page .lead, .hero h1, .verdict, .page-verdict > p";
const SHOWN_FOR = 1500; // milliseconds that "copied" stands

/** Gives every sentence of a view a button that copies it as plain text. */
export function sentencesCopy(main: HTMLElement): void {
  for (const sentence of main.querySelectorAll<HTMLElement>(SENTENCES)) {
    const text = () => (sentence.textContent ?? "").replaceAll(/\s+/g, " ").trim();
    const button = h("button", { type: "button", class: "copy", title: "Copy this sentence", "aria-label": `Copy: ${text().slice(0, 60)}` }, "copy");
    button.addEventListener("click", async () => {
      button.textContent = (await copy(text())) ? "copied" : "not allowed";
      setTimeout(() => (button.textContent = "copy"), SHOWN_FOR);
    });
    const both = h("div", { class: "sentence" });
    sentence.replaceWith(both);
    both.append(sentence, button);
  }
}

const [WIDE, HIGH, EDGE, ROWS] = [1200, 630, 64, 8]; // pixels of a card, its margin, and its learners
const SIZES = [44, 38, 32, 27, 22]; // pixels of its headline

/** A picture to post: the headline, the first learners with their intervals, and what it rests on. */
export function saveCard(report: Report, of: Diagnosis, headline: string): void {
  const canvas = h("canvas", { width: WIDE, height: HIGH });
  const pen = canvas.getContext("2d")!;
  const font = (size: number, weight = 400) => (pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`);
  const write = (text: string, x: number, y: number, ink: string, align: CanvasTextAlign = "left") => {
    pen.fillStyle = colour(ink);
    pen.textAlign = align;
    pen.fillText(text, x, y);
  };
  pen.fillStyle = colour("paper");
  pen.fillRect(0, 0, WIDE, HIGH);
  font(24);
  write(brief(report.title, 80), EDGE, 76, "soft");
  const room = WIDE - 2 * EDGE;
  const size = SIZES.find((one) => font(one, 680) && wrapped(pen, headline, room).length <= 3 && wrapped(pen, headline, room).every((line) => pen.measureText(line).width <= room)) ?? SIZES[SIZES.length - 1];
  font(size, 680);
  const lines = wrapped(pen, headline, room).slice(0, 3);
  lines.forEach((line, i) => write(line, EDGE, 90 + 1.18 * size * (i + 1), "ink"));
  bars(pen, of, 116 + 1.18 * size * (lines.length + 0.5), font, write);
  font(20);
  write(`${count(of.learners.name.length)} learners, ${count(of.samples.total)} samples; dots are abilities, lines 95\u00a0% intervals`, EDGE, HIGH - 36, "soft");
  write(`Camilla ${report.version}`, WIDE - EDGE, HIGH - 36, "soft", "right");
  canvas.toBlob((blob) => blob && save(blob, "image/png", fileName(`${report.title} card`, "png")));
}

type Write = (text: string, x: number, y: number, ink: string, align?: CanvasTextAlign) => void;

function bars(pen: CanvasRenderingContext2D, of: Diagnosis, top: number, font: (size: number, weight?: number) => string, write: Write): void {
  const { ability, low, high, name, accuracy } = of.learners;
  const rows = Math.min(ROWS, name.length, Math.floor((HIGH - 80 - top) / 42));
  const places = Array.from({ length: rows }, (_, i) => i);
  const ends = places.flatMap((i) => [ability[i], low[i], high[i]]).filter(Number.isFinite);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const x = (value: number) => 430 + ((WIDE - EDGE - 180 - 430) * (value - least)) / (most - least || 1);
  font(22);
  const names = labels(name.slice(0, rows), (text) => pen.measureText(text).width <= 405 - EDGE);
  for (const i of places) {
    const y = top + 20 + 42 * i;
    write(names[i], 405, y + 7, "ink", "right");
    write(`${number(ability[i])} · ${percent(accuracy[i])}`, WIDE - EDGE, y + 7, "soft", "right");
    pen.strokeStyle = pen.fillStyle = colour("c0");
    pen.lineWidth = 5;
    pen.globalAlpha = 0.45;
    pen.beginPath();
    if (Number.isFinite(low[i])) {
      pen.moveTo(x(low[i]), y);
      pen.lineTo(x(high[i]), y);
    }
    pen.stroke();
    pen.globalAlpha = 1;
    pen.beginPath();
    pen.arc(x(ability[i]), y, 8, 0, 2 * Math.PI);
    pen.fillStyle = colour("c0");
    pen.fill();
  }
}

function wrapped(pen: CanvasRenderingContext2D, text: string, width: number): string[] {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (lines[lines.length - 1] && pen.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
