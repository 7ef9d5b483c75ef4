import { SpanseekError } from "./errors.js";
import type { Answer, Body, Caller } from "./operations.js";

/** A document with its text, or with parts that have metadata of their own. */
export interface Document {
  id: string;
  text?: string;
  parts?: { text: string; metadata?: Record<string, unknown> }[];
  metadata?: Record<string, unknown>;
}

/** What became of added documents. `unchanged` were there already; `errors` say why others failed. */
export interface Added {
  indexed: number;
  unchanged: number;
  failed: number;
  errors: { id: string | null; detail: string }[];
}

type Search = Omit<Body<"post", "/search">, "collection">;
type Hit = Answer<"post", "/search">["hits"][number];
type Stored = Answer<"get", "/collections/{collection}/documents/{document_id}">;
type Task = Answer<"get", "/tasks/{id}">;
/** Documents in one request, and seconds of one look at a task. */
const PIECE = 500;
const LOOK_S = 10;

/** One collection: what is done most. Everything else is in `Client.call`. */
export class Collection {
  constructor(
    readonly client: Caller,
    readonly name: string,
  ) {}

  /** The best spans of a query, and what else the API says of the search. */
  search(query: Search): Promise<Answer<"post", "/search">> {
    return this.client.call("post", "/search", { body: { ...query, collection: this.name } });
  }

  /** All hits of a query, best first, as they arrive. */
  async *searchAll(query: Omit<Body<"post", "/search/export">, "collection">): AsyncGenerator<Hit> {
    for await (const line of this.client.lines("post", "/search/export", {
      body: { ...query, collection: this.name },
    })) {
      if ("document_id" in line) yield line as unknown as Hit;
    }
  }

  /** Make the collection with the server's defaults; one that is there stays as it is. */
  create(): Promise<Answer<"put", "/collections/{collection}">> {
    return this.client.call("put", "/collections/{collection}", { path: { collection: this.name }, body: null });
  }

  /** Index documents as they come, some hundred in a request, into a collection that is there. */
  async add(documents: Iterable<Document> | AsyncIterable<Document>): Promise<Added> {
    const added: Added = { indexed: 0, unchanged: 0, failed: 0, errors: [] };
    let piece: Document[] = [];
    for await (const document of documents) {
      piece.push(document);
      if (piece.length === PIECE) {
        await this.#post(piece, added);
        piece = [];
      }
    }
    if (piece.length > 0) await this.#post(piece, added);
    return added;
  }

  /** A document with its text. Throws a `SpanseekError` of code `document_not_found`. */
  read(id: string): Promise<Stored> {
    const path = { collection: this.name, document_id: id };
    return this.client.call("get", "/collections/{collection}/documents/{document_id}", { path });
  }

  /** All documents with their texts, in a form that `add` takes, as they arrive. */
  async *export(filter?: string): AsyncGenerator<Document> {
    const query = filter === undefined ? {} : { filter };
    const path = { collection: this.name };
    for await (const line of this.client.lines("get", "/collections/{collection}/export", { path, query })) {
      yield line as unknown as Document;
    }
  }

  async #post(documents: Document[], added: Added): Promise<void> {
    const path = { collection: this.name };
    const written = await this.client.call("post", "/collections/{collection}/documents", { path, body: documents });
    if ("results" in written) {
      for (const each of written.results) {
        added[each.status]++;
        if (each.error) added.errors.push({ id: each.id, detail: each.error.detail });
      }
      return;
    }
    const task = await this.#ended(written);
    added.indexed += task.counts["indexed"] ?? 0;
    added.unchanged += task.counts["unchanged"] ?? 0;
    added.failed += task.counts["failed"] ?? 0;
    added.errors.push(...task.errors.map(({ id, detail }) => ({ id, detail })));
  }

  /** The task that a large request becomes, once it has ended. */
  async #ended(task: Task): Promise<Task> {
    while (task.finished_at === null) {
      task = await this.client.call("get", "/tasks/{id}", { path: { id: task.id }, query: { wait: LOOK_S } });
    }
    if (task.status === "done") return task;
    const why = task.error ? `: ${task.error.detail}` : ".";
    throw new SpanseekError(`The task ${task.id} is ${task.status}${why}`, 0, task.error?.code, task.error?.hint);
  }
}
