// Files: sent, translated, fetched.
import { translateFile } from "./api.js";
import { say } from "./texts.js";

export class Files {
  constructor({ drop, input, list, pair, worded }) {
    Object.assign(this, { list, pair, worded });
    input.addEventListener("change", () => {
      for (const file of input.files) this.send(file);
      input.value = "";
    });
    for (const name of ["dragenter", "dragover"])
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.add("over");
      });
    for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      for (const file of event.dataTransfer.files) this.send(file);
    });
  }

  async send(file) {
    const item = document.createElement("li");
    const label = document.createElement("span");
    const bar = document.createElement("progress");
    bar.setAttribute("aria-label", file.name);
    bar.value = 0;
    item.append(label, bar);
    this.list.prepend(item);
    label.textContent = say("uploading", file.name, 0);
    try {
      const [source, target] = this.pair();
      const path = await translateFile(file, source, target, (part) => {
        bar.value = part;
        label.textContent = part < 1 ? say("uploading", file.name, Math.round(part * 100)) : say("working", file.name);
        if (part >= 1) bar.removeAttribute("value");
      });
      label.textContent = say("ready", file.name);
      const link = document.createElement("a");
      link.href = path;
      link.download = "";
      link.textContent = say("fetchFile");
      item.append(link);
    } catch (error) {
      label.textContent = say("failed", file.name, this.worded(error));
    }
    bar.remove();
  }
}
