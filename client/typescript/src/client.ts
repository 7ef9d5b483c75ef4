import { Collection } from "./collection.js";
import { SpanseekError } from "./errors.js";
import type { Answer, Caller, Method, Options, PathWith } from "./operations.js";

export interface ClientOptions {
  /** An API key, which a server needs that has any. */
  key?: string;
  /** How often a request is sent that the server refused unprocessed, with `Retry-After`. */
  attempts?: number;
  /** The longest `Retry-After`, in seconds, that is waited for. */
  longestWait?: number;
  fetch?: typeof fetch;
}

/** What any call gives, whatever its operation. */
interface Call {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
}

/** A client of one server, with a typed method for every operation of its API. */
export class Client implements Caller {
  readonly #url: string;
  readonly #options: Required<Omit<ClientOptions, "key">>;
  readonly #headers: Record<string, string>;

  constructor(url = "http://127.0.0.1:8000", options: ClientOptions = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#options = { attempts: 4, longestWait: 60, fetch: (...given) => fetch(...given), ...options };
    this.#headers = options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` };
  }

  /** A collection by its name or alias. */
  collection(name: string): Collection {
    return new Collection(this, name);
  }

  /**
   * The answer of an operation: `call("get", "/collections/{collection}", { path: { collection: "calls" } })`.
   * Throws `SpanseekError`.
   */
  async call<M extends Method, P extends PathWith<M>>(
    method: M,
    path: P,
    options: Options<M, P>,
  ): Promise<Answer<M, P>> {
    const response = await this.#send(method, path as string, options as Call);
    if (response.status === 204) return undefined as Answer<M, P>;
    return (await this.#read(() => response.json())) as Answer<M, P>;
  }

  /** The objects of an answer of NDJSON, as they arrive; ending the loop ends the request. */
  async *lines<M extends Method, P extends PathWith<M>>(
    method: M,
    path: P,
    options: Options<M, P>,
  ): AsyncGenerator<Record<string, unknown>> {
    const response = await this.#send(method, path as string, options as Call);
    let rest = "";
    try {
      for await (const piece of (response.body as ReadableStream<BufferSource>).pipeThrough(new TextDecoderStream())) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") yield JSON.parse(line);
      }
      if (rest !== "") yield JSON.parse(rest);
    } catch (failure) {
      throw SpanseekError.from(failure, this.#url);
    }
  }

  async #send(method: Method, path: string, call: Call): Promise<Response> {
    const url = this.#url + filled(path, call.path ?? {}) + queryOf(call.query ?? {});
    const headers = call.body === undefined ? this.#headers : { ...this.#headers, "Content-Type": "application/json" };
    const request: RequestInit = { method: method.toUpperCase(), headers };
    if (call.body !== undefined) request.body = JSON.stringify(call.body);
    if (call.signal !== undefined) request.signal = call.signal;
    for (let attempt = 1; ; attempt++) {
      const response = await this.#read(() => this.#options.fetch(url, request));
      if (response.ok) return response;
      const failure = await SpanseekError.of(response);
      const wait = attempt < this.#options.attempts ? waitOf(response) : undefined;
      if (wait === undefined || wait > this.#options.longestWait) throw failure;
      await new Promise((resume) => setTimeout(resume, wait * 1000));
    }
  }

  /** What is read of the server. Throws `SpanseekError` where nothing comes, or nothing of Spanseek. */
  async #read<T>(reading: () => Promise<T>): Promise<T> {
    try {
      return await reading();
    } catch (failure) {
      throw SpanseekError.from(failure, this.#url);
    }
  }
}

/** A path with its parameters: `/collections/{collection}` of `a b` is `/collections/a%20b`. */
function filled(path: string, values: Record<string, unknown>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => stepOf(name, values[name]));
}

/** A parameter as one step of a path. Throws `SpanseekError` for one that would make it another path. */
function stepOf(name: string, value: unknown): string {
  const step = String(value ?? "");
  if (step === "") throw new SpanseekError(`The path has no ${name}.`, 0, "", `Give \`path\` a ${name}.`);
  // `fetch` resolves them, also if they are encoded.
  if (step === "." || step === "..") {
    const hint = "Choose another name. Documents of such ids are deleted by `/collections/{collection}/documents/delete`.";
    throw new SpanseekError(`${name} cannot be "${step}": in an address it means another path.`, 0, "", hint);
  }
  return encodeURIComponent(step);
}

function queryOf(values: Record<string, unknown>): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((each) => each !== undefined && each !== null)
      .map((each) => [name, String(each)] as [string, string]),
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

/** The seconds to wait before a request is sent again that the server refused unprocessed. */
function waitOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return [429, 503].includes(response.status) && Number.isFinite(seconds) ? seconds : undefined;
}
