// What was translated, kept in the browser if the user wants it.
import { load, save } from "./storage.js";
import { languageName, say } from "./texts.js";

const kMost = 50;

export class History {
  // open(entry) shows an entry again.
  constructor({ list, keep, forget, open }) {
    Object.assign(this, { list, keep, open });
    keep.checked = load("keep", true);
    keep.addEventListener("change", () => {
      save("keep", keep.checked);
      if (!keep.checked) this.store([]);
    });
    forget.addEventListener("click", () => this.store([]));
    this.draw();
  }

  entries() {
    return load("history", []);
  }

  store(entries) {
    save("history", entries.length > 0 ? entries : undefined);
    this.draw();
  }

  // A text that continues the last one takes its place: the user was still typing.
  add(entry) {
    if (!this.keep.checked || !entry.text.trim() || entry.text.length > 5000) return;
    const entries = this.entries().filter((other) => !(other.text === entry.text && other.target === entry.target));
    const last = entries[0];
    const continues = last && last.target === entry.target && Date.now() - last.time < 60000 &&
      (entry.text.startsWith(last.text) || last.text.startsWith(entry.text));
    if (continues) entries.shift();
    this.store([{ ...entry, time: Date.now() }, ...entries].slice(0, kMost));
  }

  draw() {
    const entries = this.entries();
    if (entries.length === 0) {
      const none = document.createElement("li");
      none.className = "small";
      none.textContent = say("nothing");
      this.list.replaceChildren(none);
      return;
    }
    this.list.replaceChildren(...entries.map((entry) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "entry";
      button.dir = "auto";
      button.textContent = `${entry.text.slice(0, 120)} → ${entry.translation.slice(0, 120)}`;
      button.addEventListener("click", () => this.open(entry));
      const pair = document.createElement("span");
      pair.className = "small";
      pair.textContent = `${languageName(entry.source)} → ${languageName(entry.target)}`;
      item.append(button, pair);
      return item;
    }));
  }
}
