// The interface's texts. German where the browser prefers it, otherwise English.
const english = {
  skip: "Skip to the text", from: "Language of the text", to: "Language of the translation", swap: "Swap the languages",
  text: "Text", translation: "Translation", clear: "Clear", copy: "Copy", copied: "Copied", copyLong: "Copy the translation",
  shade: "Show confidence", others: "Other translations", glossary: "Glossary", add: "Add", remove: "Remove {0}", files: "Translate a file",
  glossaryHelp: "Words that are always translated in your way. They stay in this browser.", termSource: "Word of the text", termTarget: "Its translation",
  chooseFile: "Choose a file, or drop it here.", history: "History", keep: "Keep it in this browser", forget: "Delete all", nothing: "Nothing yet.",
  keyboard: "Keyboard", close: "Close", keyNow: "Translate now", keyWords: "Go to the words of the translation", keyArrows: "From word to word",
  keyEnter: "Alternatives of a word", keyEsc: "Close", tools: "Tools", alternatives: "Alternatives", theme: "Theme: {0}", auto: "automatic",
  light: "light", dark: "dark", detect: "Detect the language", detected: "Detected: {0} ({1} %)", characters: "{0} characters", charactersOf: "{0} of {1} characters",
  resultHelp: "Arrow keys go from word to word; Enter shows alternatives of a word.", probability: "{0}: probability {1} %", here: "Your translation appears here.",
  searching: "Looking for alternatives …", noAlternatives: "The model has no others here.", keyLabel: "This server asks for a key.", useKey: "Use it",
  wrongKey: "The server does not know this key.", busy: "The server is busy. Next try in {0} s.", offline: "The server cannot be reached. Is it running?",
  slow: "No answer within {0} s. Try a shorter text, or try again.", uploading: "{0}: sending, {1} %", working: "{0}: being translated …", ready: "{0} is ready", fetchFile: "Download", failed: "{0}: {1}",
  noModels: "This server offers no languages.",
};
const german = {
  skip: "Zum Text", from: "Sprache des Textes", to: "Sprache der Übersetzung", swap: "Sprachen tauschen",
  text: "Text", translation: "Übersetzung", clear: "Leeren", copy: "Kopieren", copied: "Kopiert", copyLong: "Übersetzung kopieren",
  shade: "Sicherheit zeigen", others: "Andere Übersetzungen", glossary: "Glossar", add: "Hinzufügen", remove: "{0} entfernen", files: "Datei übersetzen",
  glossaryHelp: "Wörter, die immer so übersetzt werden. Sie bleiben in diesem Browser.", termSource: "Wort des Textes", termTarget: "Seine Übersetzung",
  chooseFile: "Datei wählen oder hierher ziehen.", history: "Verlauf", keep: "In diesem Browser behalten", forget: "Alles löschen", nothing: "Noch nichts.",
  keyboard: "Tastatur", close: "Schließen", keyNow: "Sofort übersetzen", keyWords: "Zu den Wörtern der Übersetzung", keyArrows: "Von Wort zu Wort",
  keyEnter: "Alternativen eines Wortes", keyEsc: "Schließen", tools: "Werkzeuge", alternatives: "Alternativen", theme: "Farben: {0}", auto: "automatisch",
  light: "hell", dark: "dunkel", detect: "Sprache erkennen", detected: "Erkannt: {0} ({1} %)", characters: "{0} Zeichen", charactersOf: "{0} von {1} Zeichen",
  resultHelp: "Pfeiltasten gehen von Wort zu Wort; die Eingabetaste zeigt Alternativen.", probability: "{0}: Wahrscheinlichkeit {1} %", here: "Hier erscheint die Übersetzung.",
  searching: "Alternativen werden gesucht …", noAlternatives: "Das Modell kennt hier keine anderen.", keyLabel: "Dieser Server verlangt einen Schlüssel.", useKey: "Verwenden",
  wrongKey: "Der Server kennt diesen Schlüssel nicht.", busy: "Der Server ist ausgelastet. Nächster Versuch in {0} s.", offline: "Der Server ist nicht erreichbar. Läuft er?",
  slow: "Keine Antwort innerhalb von {0} s. Versuchen Sie es mit einem kürzeren Text oder noch einmal.", uploading: "{0}: wird gesendet, {1} %", working: "{0}: wird übersetzt …", ready: "{0} ist fertig",
  fetchFile: "Herunterladen", failed: "{0}: {1}", noModels: "Dieser Server bietet keine Sprachen an.",
};

export const language = (navigator.language || "en").toLowerCase().startsWith("de") ? "de" : "en";
const table = language === "de" ? german : english;

export function say(key, ...values) {
  return table[key].replace(/\{(\d)\}/g, (_, i) => values[Number(i)]);
}

// Sets the texts of elements with data-text and data-label.
export function localise(root) {
  document.documentElement.lang = language;
  for (const element of root.querySelectorAll("[data-text]")) element.textContent = say(element.dataset.text);
  for (const element of root.querySelectorAll("[data-label]")) element.setAttribute("aria-label", say(element.dataset.label));
}

const names = new Intl.DisplayNames([language], { type: "language" });
export function languageName(code, name) {
  try {
    return names.of(code) || name || code;
  } catch {
    return name || code;
  }
}
