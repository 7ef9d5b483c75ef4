// The public API. The key is held in memory only: reloading the page forgets it.
let key = "";
export const setKey = (value) => { key = value; };

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || `The server answered ${status}.`);
    Object.assign(this, { status, hint: problem.hint || "", code: problem.code || "" });
  }
}

export async function call(method, path, { body, signal, type = "application/json", reader } = {}) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  if (body !== undefined) headers["Content-Type"] = type;
  const sent = body === undefined || typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { method, headers, body: sent, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { detail: "The server cannot be reached.", hint: "Check that it runs, then try again." });
  }
  if (response.ok && reader) return reader(response);
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401) document.dispatchEvent(new CustomEvent("sign-in", { detail: { refused: key ? answer.detail : "" } }));
  throw new ApiError(response.status, answer);
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body, options) => call("POST", path, { ...options, body });
export const put = (path, body) => call("PUT", path, { body });
export const part = encodeURIComponent;
