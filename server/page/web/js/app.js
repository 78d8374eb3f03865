// The page: a text, its translation, and what is between them.
import * as server from "./api.js";
import { Choices } from "./choices.js";
import { Files } from "./files.js";
import { Glossary } from "./glossary.js";
import { History } from "./history.js";
import { Mirror, Result, locate } from "./result.js";
import { load, save, sessionKey } from "./storage.js";
import { language, languageName, localise, say } from "./texts.js";
import { startTheme } from "./theme.js";

const kPause = 250; // milliseconds between the last key and the request
const at = (id) => document.getElementById(id);
const source = at("source"), from = at("from"), to = at("to");

let offered = [];         // languages of the server: {code, name, targets}
let characterLimit = -1;
let detectedLanguage = "";
let running = null;       // AbortController of the request under way
let timer = 0, countdown = 0;

const mirror = new Mirror(at("mirror"), source);
const choices = new Choices(at("words"));
const result = new Result(at("result"), {
  visit: (sentence, word) => (sentence ? mirror.show(sentence, word) : mirror.clear()),
  choose: showAlternatives,
});

// --- What goes wrong -----------------------------------------------------------------------------------------------

function worded(error) {
  if (error.status === 0) return say("offline");
  if (error.status === 408) return say("slow", server.deadlineSeconds);
  return error.message || String(error.status);
}

function notify(text) {
  clearInterval(countdown);
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

function fail(error) {
  if (error.name === "AbortError") return;
  at("result").removeAttribute("aria-busy");
  if (error.wantsKey) {
    at("key-form").hidden = false;
    notify(sessionKey() ? say("wrongKey") : "");
    at("key").focus();
  } else if (error.status === 429 || error.status === 503) {
    retryIn(error.retryAfter || 5);
  } else {
    notify(worded(error));
    if (error.status === undefined) throw error; // a fault of the page
  }
}

function retryIn(seconds) {
  notify(say("busy", seconds));
  countdown = setInterval(() => {
    seconds -= 1;
    at("notice").textContent = say("busy", seconds);
    if (seconds <= 0) translateNow();
  }, 1000);
}

// --- Languages -----------------------------------------------------------------------------------------------------

function fill(select, codes, chosen) {
  select.replaceChildren(...codes.map((code) => {
    const name = code === "auto" ? say("detect") : languageName(code, offered.find((one) => one.code === code)?.name);
    return new Option(name, code, false, code === chosen);
  }));
}

function targetsOf(code) {
  const all = code === "auto" ? offered : offered.filter((one) => one.code === code);
  return [...new Set(all.flatMap((one) => one.targets))];
}

function fillTargets(wanted) {
  const targets = targetsOf(from.value);
  fill(to, targets, targets.includes(wanted) ? wanted : targets.find((code) => code === language) || targets[0]);
  at("result").lang = to.value;
  at("swap").disabled = !canSwap();
  glossary.draw();
}

function sourceCode() {
  return from.value === "auto" ? detectedLanguage : from.value;
}

function canSwap() {
  return targetsOf(to.value).length > 0 && (from.value === "auto" || targetsOf(to.value).includes(from.value));
}

function swap() {
  if (!canSwap()) return;
  const [before, after] = [sourceCode(), to.value];
  const text = result.text;
  from.value = after;
  fillTargets(before);
  if (text) source.value = text;
  changedLanguages();
}

function changedLanguages() {
  save("pair", [from.value, to.value]);
  at("result").lang = to.value;
  at("swap").disabled = !canSwap();
  detectedLanguage = "";
  at("detected").textContent = "";
  glossary.draw();
  grow();
  translateNow();
}

// --- Translating ---------------------------------------------------------------------------------------------------

function grow() {
  const length = [...source.value].length;
  at("count").textContent = characterLimit > 0 ? say("charactersOf", length, characterLimit) : say("characters", length);
}

function typed() {
  grow();
  mirror.clear();
  clearTimeout(timer);
  timer = setTimeout(translateNow, kPause);
}

function request(text) {
  const terms = glossary.terms();
  return {
    text, source: from.value, target: to.value, details: true, alignment: true,
    ...(terms.length > 0 && { glossary: terms }),
  };
}

async function translateNow() {
  clearTimeout(timer);
  running?.abort();
  choices.close(false);
  notify("");
  const text = source.value;
  if (!text.trim() || !to.value) {
    result.clear();
    showOthers([]);
    at("detected").textContent = "";
    return;
  }
  const mine = (running = new AbortController());
  result.begin();
  try {
    const [translation] = await server.translateGrowing({ ...request(text), n_best: 3 }, mine.signal, (partial) => {
      if (mine === running) result.grow(partial);
    });
    if (mine !== running) return;
    result.show(translation);
    locate(result.sentences, text);
    showDetected(translation);
    showOthers(translation.alternatives || []);
    at("spoken").textContent = translation.text.length < 400 ? translation.text : "";
    history.add({ text, translation: translation.text, source: translation.source, target: to.value });
  } catch (error) {
    if (mine === running) fail(error);
  }
}

function showDetected(translation) {
  if (from.value !== "auto") return;
  detectedLanguage = translation.source;
  const name = languageName(detectedLanguage, offered.find((one) => one.code === detectedLanguage)?.name);
  at("detected").textContent = translation.confidence ? say("detected", name, Math.round(translation.confidence * 100)) : "";
}

function showOthers(texts) {
  at("others").hidden = texts.length === 0;
  at("others-list").replaceChildren(...texts.map((text) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dir = "auto";
    button.textContent = text;
    button.addEventListener("click", () => {
      const shown = result.text;
      result.show({ text, sentences: [] });
      showOthers(texts.map((other) => (other === text ? shown : other)));
    });
    item.append(button);
    return item;
  }));
}

// Translates the sentence again from what stands before the word: its alternatives are how those translations go on.
async function showAlternatives(sentence, word, element) {
  choices.open(element);
  const prefix = sentence.text.slice(0, word.begin).trimEnd();
  try {
    const [translation] = await server.translate({ ...request(sentence.source), source: sourceCode() || from.value, n_best: 8, target_prefix: prefix });
    const found = new Map();
    for (const one of translation.sentences?.[0]?.translations || []) {
      const next = one.text.slice(prefix.length).trim().split(/\s+/).slice(0, 1).join(" ");
      if (one.text.startsWith(prefix) && next && next !== word.text && !found.has(next)) found.set(next, one);
    }
    const tokens = translation.sentences?.[0]?.source_tokens;
    choices.fill([...found].map(([label, one]) => ({
      label: `${label} …`,
      choose: () => {
        if (tokens) sentence.source_tokens = tokens;
        result.replace(sentence, one);
        result.focusWord();
      },
    })));
  } catch (error) {
    choices.close(true);
    fail(error);
  }
}

async function copy() {
  try {
    await navigator.clipboard.writeText(result.text);
  } catch {
    // Only pages by HTTPS or from this machine may use the clipboard; elsewhere a selection can be copied.
    getSelection().selectAllChildren(at("result"));
    document.execCommand("copy");
  }
  at("copy").textContent = say("copied");
  setTimeout(() => { at("copy").textContent = say("copy"); }, 1500);
}

// --- Parts ---------------------------------------------------------------------------------------------------------

localise(document);
startTheme(at("theme"));
const glossary = new Glossary({
  form: at("term-form"), source: at("term-source"), target: at("term-target"), rows: at("terms"), badge: at("glossary-count"),
  pair: () => [from.value, to.value], changed: translateNow,
});
const history = new History({
  list: at("history-list"), keep: at("keep"), forget: at("forget"),
  open: (entry) => {
    from.value = entry.source;
    if (!from.value) from.value = "auto";
    fillTargets(entry.target);
    source.value = entry.text;
    changedLanguages();
    source.focus();
  },
});
new Files({ drop: at("drop"), input: at("file"), list: at("file-list"), pair: () => [from.value, to.value], worded });

source.addEventListener("input", typed);
from.addEventListener("change", () => { fillTargets(to.value); changedLanguages(); });
to.addEventListener("change", changedLanguages);
at("swap").addEventListener("click", swap);
at("swap").setAttribute("aria-label", say("swap"));
at("copy").addEventListener("click", copy);
at("clear").addEventListener("click", () => { source.value = ""; typed(); source.focus(); });
at("shade").checked = load("shade", false);
const shade = () => { at("result").classList.toggle("shaded", at("shade").checked); save("shade", at("shade").checked); };
at("shade").addEventListener("change", shade);
shade();
at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionKey(at("key").value.trim());
  at("key").value = "";
  at("key-form").hidden = true;
  start();
});
at("keys-open").addEventListener("click", () => at("keys").showModal());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey && event.key === "Enter") translateNow();
  else if (event.altKey && event.code === "KeyS") swap();
  else if (event.altKey && event.code === "KeyC") copy();
  else if (event.altKey && event.code === "KeyT") result.focusWord();
  else return;
  event.preventDefault();
});

async function start() {
  notify("");
  try {
    const [models, settings] = await Promise.all([server.languages(), server.settings()]);
    offered = models.filter((one) => one.targets.length > 0);
    if (offered.length === 0) return notify(say("noModels"));
    characterLimit = settings.charLimit;
    at("files").hidden = !settings.filesTranslation;
    at("formats").textContent = (settings.supportedFilesFormat || []).join(" ");
    at("file").accept = (settings.supportedFilesFormat || []).join(",");
    const [before, after] = load("pair", ["auto", ""]);
    const codes = ["auto", ...offered.map((one) => one.code)];
    fill(from, codes, codes.includes(before) ? before : "auto");
    fillTargets(after);
    grow();
    translateNow();
  } catch (error) {
    fail(error);
  }
}

result.clear();
start();
source.focus();
