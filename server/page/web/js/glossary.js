// The glossary, for each pair of languages, kept in the browser.
import { load, save } from "./storage.js";
import { say } from "./texts.js";

export class Glossary {
  constructor({ form, source, target, rows, badge, pair, changed }) {
    Object.assign(this, { rows, badge, pair, changed });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const term = { source: source.value.trim(), target: target.value.trim() };
      if (!term.source || !term.target) return;
      this.store([...this.terms().filter((other) => other.source !== term.source), term]);
      source.value = target.value = "";
      source.focus();
    });
  }

  key() {
    return `glossary.${this.pair().join("-")}`;
  }

  terms() {
    return load(this.key(), []);
  }

  store(terms) {
    save(this.key(), terms.length > 0 ? terms : undefined);
    this.draw();
    this.changed();
  }

  draw() {
    const terms = this.terms();
    this.badge.textContent = terms.length > 0 ? String(terms.length) : "";
    this.rows.replaceChildren(...terms.map((term) => {
      const row = document.createElement("tr");
      for (const text of [term.source, term.target]) {
        const cell = document.createElement("td");
        cell.dir = "auto";
        cell.textContent = text;
        row.append(cell);
      }
      const remove = document.createElement("button");
      remove.type = "button";
      remove.className = "quiet";
      remove.textContent = "✕";
      remove.setAttribute("aria-label", say("remove", term.source));
      remove.addEventListener("click", () => this.store(this.terms().filter((other) => other.source !== term.source)));
      const cell = document.createElement("td");
      cell.append(remove);
      row.append(cell);
      return row;
    }));
  }
}
