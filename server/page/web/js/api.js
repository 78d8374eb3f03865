// The server's interface: docs/reference/http-api.md.
import { sessionKey } from "./storage.js";

export class ServerError extends Error {
  constructor(status, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
  get wantsKey() {
    return this.status === 401 || this.status === 403 || (this.status === 400 && /API key/.test(this.message));
  }
}

const kSeconds = 60; // after which an answer is given up

async function call(path, options = {}) {
  const headers = { ...options.headers };
  const key = sessionKey();
  if (key) headers.Authorization = `Bearer ${key}`;
  // The deadline is for the beginning of an answer; a growing one may take longer.
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), kSeconds * 1000);
  const leave = () => deadline.abort();
  options.signal?.addEventListener("abort", leave);
  try {
    const response = await fetch(path, { ...options, headers, signal: deadline.signal });
    if (!response.ok) throw await errorOf(response);
    return response;
  } catch (error) {
    if (error instanceof ServerError || options.signal?.aborted) throw error;
    throw new ServerError(deadline.signal.aborted ? 408 : 0, "");
  } finally {
    clearTimeout(timer);
  }
}

export const deadlineSeconds = kSeconds;

async function errorOf(response) {
  let message = response.statusText;
  try {
    const body = await response.json();
    if (typeof body.error === "string") message = body.error;
  } catch {
    // Not from this server: a proxy's page.
  }
  return new ServerError(response.status, message, Number(response.headers.get("Retry-After")) || 0);
}

function post(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

export async function languages() {
  return (await (await call("/v1/models")).json()).languages;
}

export async function settings() {
  return (await call("/frontend/settings")).json();
}

export async function translate(request, signal) {
  return (await (await call("/v1/translate", post(request, signal))).json()).translations;
}

// Calls onPartial({index, more, tail}) while the translation grows, and returns the translations.
export async function translateGrowing(request, signal, onPartial) {
  const response = await call("/v1/translate", post({ ...request, stream: true }, signal));
  for await (const { event, data } of events(response)) {
    if (event === "partial") onPartial(data);
    else if (event === "error") throw new ServerError(data.status || 500, data.error);
    else if (event === "done") return data.translations;
  }
  throw new ServerError(0, "");
}

// Server-sent events of an answer, each with its data parsed.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const one = { event: "message", data: null };
      for (const line of text.slice(0, end).split("\n")) {
        if (line.startsWith("event: ")) one.event = line.slice(7);
        else if (line.startsWith("data: ")) one.data = JSON.parse(line.slice(6));
      }
      text = text.slice(end + 2);
      yield one;
    }
  }
}

// By XMLHttpRequest, since fetch does not tell how much has been sent. Returns the path of the translated file.
export function translateFile(file, source, target, onProgress) {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    form.append("file", file);
    form.append("source", source);
    form.append("target", target);
    if (sessionKey()) form.append("api_key", sessionKey());
    const request = new XMLHttpRequest();
    request.open("POST", "/translate_file");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
    request.addEventListener("load", () => {
      const body = request.response || {};
      // The server may be known to others by another address.
      if (request.status === 200 && body.translatedFileUrl) resolve(new URL(body.translatedFileUrl, location.href).pathname);
      else reject(new ServerError(request.status, body.error || request.statusText, Number(request.getResponseHeader("Retry-After")) || 0));
    });
    request.addEventListener("error", () => reject(new ServerError(0, "")));
    request.send(form);
  });
}
