// Light, dark, or as the system has it.
import { load, save } from "./storage.js";
import { say } from "./texts.js";

const kThemes = ["auto", "light", "dark"];

export function startTheme(button) {
  let theme = load("theme", "auto");
  const show = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = say("theme", say(theme));
  };
  button.addEventListener("click", () => {
    theme = kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length];
    save("theme", theme === "auto" ? undefined : theme);
    show();
  });
  show();
}
