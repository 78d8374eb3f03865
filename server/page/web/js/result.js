// The translation: it grows, its words can be visited, doubted and replaced, and they point at the words of the text.
import { placesOf, piecesOf, probabilityOf, wordsOf } from "./words.js";
import { say } from "./texts.js";

export class Result {
  // visit(sentence, word) when a word is looked at (null: none), choose(sentence, word, element) when it is clicked.
  constructor(element, { visit, choose }) {
    this.element = element;
    this.visit = visit;
    this.choose = choose;
    this.clear();
    element.addEventListener("keydown", (event) => this.move(event));
    element.addEventListener("focusin", (event) => this.look(event.target));
    element.addEventListener("focusout", () => this.visit(null));
    element.addEventListener("pointerover", (event) => this.look(event.target));
    element.addEventListener("pointerleave", () => this.visit(null));
    element.addEventListener("click", (event) => {
      const entry = this.entries.get(event.target);
      if (entry) this.choose(entry.sentence, entry.word, event.target);
    });
  }

  clear() {
    this.entries = new Map();
    this.decided = "";
    this.text = "";
    this.sentences = [];
    const hint = document.createElement("span");
    hint.className = "tail";
    hint.textContent = say("here");
    this.element.replaceChildren(hint);
    this.element.removeAttribute("aria-busy");
  }

  begin() {
    this.decided = "";
    this.element.setAttribute("aria-busy", "true");
  }

  grow({ more, tail }) {
    this.decided += more;
    this.entries.clear();
    const rest = document.createElement("span");
    rest.className = "tail";
    rest.textContent = tail || "";
    this.element.replaceChildren(this.decided, rest);
  }

  // A translation of /v1/translate with details.
  show(translation) {
    this.text = translation.text;
    this.sentences = [];
    let at = 0;
    for (const sentence of translation.sentences || []) {
      const best = sentence.translations[0];
      const begin = best && best.text ? this.text.indexOf(best.text, at) : -1;
      if (begin < 0) continue;
      this.sentences.push({ ...sentence, begin, text: best.text, best });
      at = begin + best.text.length;
    }
    this.draw();
  }

  // Puts another translation in the place of a sentence's.
  replace(sentence, translation) {
    const change = translation.text.length - sentence.text.length;
    this.text = this.text.slice(0, sentence.begin) + translation.text + this.text.slice(sentence.begin + sentence.text.length);
    for (const other of this.sentences) if (other.begin > sentence.begin) other.begin += change;
    Object.assign(sentence, { text: translation.text, best: translation });
    this.draw();
  }

  draw() {
    this.element.removeAttribute("aria-busy");
    this.entries.clear();
    const parts = [];
    let at = 0;
    for (const sentence of this.sentences) {
      parts.push(this.text.slice(at, sentence.begin));
      parts.push(...this.drawSentence(sentence));
      at = sentence.begin + sentence.text.length;
    }
    parts.push(this.text.slice(at));
    this.element.replaceChildren(...parts);
    const first = this.element.querySelector(".word");
    if (first) first.tabIndex = 0;
  }

  drawSentence(sentence) {
    const parts = [];
    const { text, best } = sentence;
    const places = placesOf(best.tokens || [], text);
    let at = 0;
    for (const place of wordsOf(text)) {
      parts.push(text.slice(at, place[0]));
      const pieces = piecesOf(place, places);
      const word = { begin: place[0], end: place[1], pieces, text: text.slice(...place) };
      parts.push(this.drawWord(sentence, word, probabilityOf(pieces, best.token_log_probabilities)));
      at = place[1];
    }
    parts.push(text.slice(at));
    return parts;
  }

  drawWord(sentence, word, probability) {
    const element = document.createElement("button");
    element.type = "button";
    element.className = "word";
    element.tabIndex = -1;
    element.textContent = word.text;
    element.setAttribute("aria-haspopup", "listbox");
    if (probability !== null) {
      element.style.setProperty("--doubt", Math.min(0.75, (1 - probability) * 0.8).toFixed(3));
      element.title = say("probability", word.text, Math.round(probability * 100));
    }
    this.entries.set(element, { sentence, word });
    return element;
  }

  look(element) {
    const entry = this.entries.get(element);
    this.visit(entry ? entry.sentence : null, entry?.word);
  }

  focusWord() {
    (this.element.querySelector('.word[tabindex="0"]') || this.element).focus();
  }

  // One word is in the order of Tab; arrows go on from it, in the direction of the script.
  move(event) {
    const words = [...this.entries.keys()];
    const now = words.indexOf(document.activeElement);
    if (now < 0) return;
    const forward = getComputedStyle(this.element).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1, Home: -now, End: words.length - 1 - now };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = words[Math.max(0, Math.min(words.length - 1, now + steps[event.key]))];
    words[now].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

// Marks the words of the text that a word of the translation attends to, behind the text itself.
export class Mirror {
  constructor(element, input) {
    this.element = element;
    this.input = input;
  }

  clear() {
    if (this.element.firstChild) this.element.replaceChildren();
  }

  show(sentence, word) {
    const rows = sentence.best.alignment;
    const pieces = sentence.source_tokens;
    const text = this.input.value;
    const source = sentence.source;
    const begin = text.indexOf(source, this.beginOf(sentence));
    if (!rows || !pieces || begin < 0 || word.pieces.length === 0) return this.clear();
    const places = placesOf(pieces, source);
    const parts = [text.slice(0, begin)];
    let at = 0;
    for (const place of wordsOf(source)) {
      const numbers = piecesOf(place, places);
      const weight = Math.max(0, ...word.pieces.map((row) => numbers.reduce((sum, i) => sum + (rows[row]?.[i] ?? 0), 0)));
      parts.push(source.slice(at, place[0]));
      const mark = document.createElement("mark");
      mark.textContent = source.slice(...place);
      mark.style.setProperty("--weight", weight < 0.08 ? 0 : Math.min(0.7, weight).toFixed(3));
      parts.push(mark);
      at = place[1];
    }
    parts.push(source.slice(at) + text.slice(begin + source.length));
    this.element.replaceChildren(...parts);
  }

  // Equal sentences are told apart by their order.
  beginOf(sentence) {
    return sentence.sourceBegin ?? 0;
  }
}

// Notes where each sentence begins in the text.
export function locate(sentences, text) {
  let at = 0;
  for (const sentence of sentences) {
    const found = text.indexOf(sentence.source, at);
    if (found < 0) continue;
    sentence.sourceBegin = found;
    at = found + sentence.source.length;
  }
}
