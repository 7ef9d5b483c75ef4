import { t } from "./words.js";

// The public API, beside the page: both may lie under a prefix. Paths are written as the API names them, from its root.
// A browser resolves the steps . and .. of any address: it would ask for another path, which is not sent.
function beside(path) {
  const dots = path.split("?")[0].split("/").find((step) => step === "." || step === "..");
  if (dots) throw new ApiError(0, { detail: t("no_step", { name: dots }), hint: t("no_step_hint") });
  return path.slice(1);
}

// The key is kept for this tab, until it is signed out or closed.
const KEY = "spanseek-key";
let key = sessionStorage.getItem(KEY) || "";
export const hasKey = () => Boolean(key);
export function setKey(value) {
  key = value;
  rights.clear();
  if (key) sessionStorage.setItem(KEY, key); else sessionStorage.removeItem(KEY);
}

// What a key may do beside searching, asked once for each right: a view without it leaves out what it would be refused.
const PROBES = { index: () => "/tasks?limit=1", admin: (collection) => `/admin/collections/${part(collection)}/thresholds`, cluster: () => "/admin/cluster" };
const rights = new Map();
export function may(right, collection) {
  if (!key || !collection) return Promise.resolve(true);
  const path = PROBES[right](collection);
  if (!rights.has(path)) rights.set(path, get(path).then(() => true, (error) => error.status !== 403));
  return rights.get(path);
}

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || t("answered", { status: String(status) }));
    Object.assign(this, { status, hint: problem.hint || "", code: problem.code || "" });
  }
}

export async function call(method, path, { body, signal, type = "application/json", accept, reader } = {}) {
  const used = key, address = beside(path);
  const headers = used ? { Authorization: `Bearer ${key}` } : {};
  if (body !== undefined) headers["Content-Type"] = type;
  if (accept) headers.Accept = accept;
  const sent = body === undefined || typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(address, { method, headers, body: sent, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreached();
  }
  try {
    if (response.ok && reader) return await reader(response);
    return answered(response.ok, response.status, await read(response), used);
  } catch (error) {
    if (error instanceof ApiError || error.name === "AbortError") throw error;
    throw unreached();
  }
}

// A refusal may have no problem document; an answer that is cut off, or a proxy's page, is none.
async function read(response) {
  try { return await response.json(); } catch (error) {
    if (response.ok || error.name === "AbortError") throw error;
    return {};
  }
}

function answered(isGood, status, answer, used) {
  if (isGood) return answer;
  if (status === 401) {
    if (used === key) setKey("");
    document.dispatchEvent(new CustomEvent("sign-in", { detail: { refused: used ? answer.detail : "" } }));
  }
  throw new ApiError(status, answer);
}

const unreached = () => new ApiError(0, { detail: t("unreached"), hint: t("unreached_hint") });

// Posts a file as it is; `onprogress` gets the share that was sent, which fetch would not say.
export async function send(path, file, headers, onprogress) {
  const used = key;
  const request = new XMLHttpRequest();
  request.open("POST", beside(path));
  for (const [name, value] of Object.entries(used ? { ...headers, Authorization: `Bearer ${used}` } : headers)) request.setRequestHeader(name, value);
  request.upload.onprogress = (event) => { if (event.lengthComputable) onprogress(event.loaded / event.total); };
  await new Promise((done) => { request.onloadend = done; request.send(file); });
  if (!request.status) throw unreached();
  let answer = {};
  try { answer = JSON.parse(request.responseText); } catch {
    if (request.status < 400) throw unreached();
  }
  return answered(request.status < 400, request.status, answer, used);
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body, options) => call("POST", path, { ...options, body });
export const remove = (path, body) => call("DELETE", path, { body });
export const put = (path, body) => call("PUT", path, { body });
export const part = encodeURIComponent;
