import { h } from "./dom";

type Theme = "auto" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const WORDS: Record<Theme, string> = { auto: "System theme", light: "Light theme", dark: "Dark theme" };

function stored(): Theme {
  try {
    const value = localStorage.getItem("camilla-theme");
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto"; // storage can be forbidden for files
  }
}

/** A button that goes round system, light and dark; charts on canvas are drawn again. Paper is always light. */
export function themeButton(): HTMLElement {
  let theme = stored();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = (shown: "light" | "dark") => {
    document.documentElement.dataset["theme"] = shown;
    dispatchEvent(new Event("themechange"));
  };
  const apply = () => {
    button.textContent = WORDS[theme];
    paint(theme === "auto" ? (dark.matches ? "dark" : "light") : theme);
  };
  const button = h("button", {
    type: "button",
    class: "theme",
    onclick: () => {
      theme = NEXT[theme];
      try {
        localStorage.setItem("camilla-theme", theme);
      } catch {
        // the choice then lasts as long as the page
      }
      apply();
    },
  });
  apply();
  dark.addEventListener("change", apply);
  addEventListener("beforeprint", () => paint("light"));
  addEventListener("afterprint", apply);
  return button;
}
