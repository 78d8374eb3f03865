// What the browser keeps. It may refuse to keep anything (private windows), so failures are ignored.
export function load(key, otherwise) {
  try {
    const text = localStorage.getItem(`dragoman.${key}`);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function save(key, value) {
  try {
    if (value === undefined) localStorage.removeItem(`dragoman.${key}`);
    else localStorage.setItem(`dragoman.${key}`, JSON.stringify(value));
  } catch {
    // The page works without it.
  }
}

// A key for the server ends with the tab.
export function sessionKey(value) {
  try {
    if (value !== undefined) sessionStorage.setItem("dragoman.key", value);
    return sessionStorage.getItem("dragoman.key") || "";
  } catch {
    return "";
  }
}
