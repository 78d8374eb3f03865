// The list of alternatives that opens at a word.
import { say } from "./texts.js";

export class Choices {
  constructor(element) {
    this.element = element;
    this.anchor = null;
    element.addEventListener("keydown", (event) => this.press(event));
    element.addEventListener("click", (event) => {
      const option = event.target.closest('[role="option"]');
      if (option) this.take(option);
    });
    document.addEventListener("pointerdown", (event) => {
      if (!element.hidden && !element.contains(event.target) && event.target !== this.anchor) this.close(false);
    });
  }

  open(anchor) {
    this.close(false);
    this.anchor = anchor;
    anchor.setAttribute("aria-expanded", "true");
    this.note(say("searching"));
    this.element.hidden = false;
    this.place();
    this.element.focus({ preventScroll: true });
  }

  // Below the word, within the window.
  place() {
    const box = this.anchor.getBoundingClientRect();
    const width = this.element.offsetWidth;
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - width - 8));
    this.element.style.setProperty("left", `${left + scrollX}px`);
    this.element.style.setProperty("top", `${box.bottom + scrollY + 4}px`);
  }

  note(text) {
    const line = document.createElement("p");
    line.className = "small";
    line.setAttribute("role", "status");
    line.textContent = text;
    this.element.replaceChildren(line);
  }

  // choices: [{label, choose}]
  fill(choices) {
    if (this.element.hidden) return;
    if (choices.length === 0) return this.note(say("noAlternatives"));
    this.actions = choices.map((choice) => choice.choose);
    this.element.replaceChildren(...choices.map(({ label }, i) => {
      const option = document.createElement("div");
      option.setAttribute("role", "option");
      option.id = `choice-${i}`;
      option.textContent = label;
      return option;
    }));
    this.select(0);
    this.place();
  }

  options() {
    return [...this.element.querySelectorAll('[role="option"]')];
  }

  select(number) {
    const options = this.options();
    if (options.length === 0) return;
    this.chosen = (number + options.length) % options.length;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === this.chosen)));
    this.element.setAttribute("aria-activedescendant", options[this.chosen].id);
  }

  press(event) {
    if (event.key === "Escape" || event.key === "Tab") this.close(true);
    else if (event.key === "ArrowDown") this.select(this.chosen + 1);
    else if (event.key === "ArrowUp") this.select(this.chosen - 1);
    else if (event.key === "Enter" && this.options().length > 0) this.take(this.options()[this.chosen]);
    else return;
    event.preventDefault();
  }

  take(option) {
    const action = this.actions[this.options().indexOf(option)];
    this.close(true);
    action();
  }

  close(back) {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.element.replaceChildren();
    this.element.removeAttribute("aria-activedescendant");
    this.anchor?.removeAttribute("aria-expanded");
    if (back && this.anchor?.isConnected) this.anchor.focus();
  }
}
