// Asks a server whose address is in SPANSEEK_URL: `node --test`.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { Client, SpanseekError } from "../dist/index.js";

const url = process.env.SPANSEEK_URL;
const calls = new Client(url).collection("typescript");
const documents = [
  { id: "a b/1", text: "Somebody took my payment twice. 😀", metadata: { queue: "billing" } },
  { id: "b", parts: [{ text: "Where is my parcel?", metadata: { speaker: "customer" } }] },
  { id: "", text: "No id." },
];

async function listed(generator) {
  const all = [];
  for await (const each of generator) all.push(each);
  return all;
}

/** An address where nothing listens. */
async function closed() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}

test("documents are added, read and exported as they were", async () => {
  await calls.create();
  const added = await calls.add(documents);
  assert.deepEqual([added.indexed, added.unchanged, added.failed], [2, 0, 1]);
  assert.equal(added.errors.length, 1);
  assert.equal((await calls.add(documents.slice(0, 2))).unchanged, 2);
  assert.equal((await calls.read("a b/1")).text, documents[0].text);
  const exported = await listed(calls.export());
  assert.deepEqual(exported.map(({ id }) => id).sort(), ["a b/1", "b"]);
  assert.deepEqual(await listed(calls.export('queue = "billing"')), [documents[0]]);
});

test("spans are searched and all hits are streamed", async () => {
  const { hits } = await calls.search({ text: "took my payment", top_k: 1 });
  assert.deepEqual([hits[0].document_id, hits[0].start, hits[0].end, hits[0].text], ["a b/1", 9, 24, "took my payment"]);
  const all = await listed(calls.searchAll({ text: "took my payment" }));
  assert.ok(all.length > 1);
  assert.equal(all[0].text, "took my payment");
});

test("many documents arrive whole, and a stream is left before its end", async () => {
  const many = new Client(url).collection("many-of-typescript");
  await many.create();
  const rows = Array.from({ length: 1203 }, (_, row) => ({ id: `r${row}`, text: `row ${row} ü` }));
  assert.equal((await many.add(rows)).indexed, rows.length);
  assert.equal((await listed(many.export())).length, rows.length);
  for await (const first of many.export()) {
    assert.match(first.text, /^row \d+ ü$/);
    break;
  }
});

test("an error has the code of the API and a hint", async () => {
  await assert.rejects(calls.read("none"), (error) => {
    assert.ok(error instanceof SpanseekError);
    assert.deepEqual([error.code, error.status], ["document_not_found", 404]);
    assert.ok(error.requestId && error.hint);
    return true;
  });
});

test("every failure is of one class and says what to do", async () => {
  const of = (answer) => new Client("http://none", { fetch: async () => answer() });
  const page = () => new Response("<html>Welcome</html>");
  const broken = () => new Response(new ReadableStream({ pull: (stream) => stream.error(new TypeError("gone")) }));
  const ended = (error) => () =>
    Response.json({ id: "t", status: "failed", finished_at: "2026-11-23T09:30:00Z", counts: {}, errors: [], error });
  const read = (client) => client.call("get", "/collections", {});
  const exported = (client) => listed(client.collection("a").export());
  const added = (client) => client.collection("a").add(documents);
  const full = { code: "storage_full", detail: "There is no room.", hint: "Free some space." };
  const failures = [
    [read, new Client(await closed()), /^No answer from http:\/\/127.0.0.1:\d+: .*ECONNREFUSED/],
    [read, new Client("nowhere"), /^No answer from nowhere: /],
    [read, of(broken), /^No answer from http:\/\/none: gone\.$/],
    [exported, of(broken), /^No answer from http:\/\/none: gone\.$/],
    [read, of(page), /^http:\/\/none gave no answer of a Spanseek server: /],
    [exported, of(page), /^http:\/\/none gave no answer of a Spanseek server: /],
    [added, of(ended(full)), /^The task t is failed: There is no room\.$/, "storage_full"],
  ];
  for (const [ask, client, message, code = ""] of failures) {
    await assert.rejects(ask(client), (error) => {
      assert.ok(error instanceof SpanseekError, error);
      assert.match(error.message, message);
      assert.deepEqual([error.status, error.code], [0, code]);
      return error.hint !== "";
    });
  }
  await assert.rejects(added(of(ended(null))), { name: "SpanseekError", message: "The task t is failed." });
  const stopped = calls.client.call("get", "/collections", { signal: AbortSignal.abort() });
  await assert.rejects(stopped, { name: "AbortError" });
});

test("a parameter that would make another path is not sent", async () => {
  const sent = [];
  const client = new Client("http://none", { fetch: async (...given) => (sent.push(given), new Response("{}")) });
  const path = "/collections/{collection}/documents/{document_id}";
  for (const document_id of ["..", ".", "", undefined]) {
    await assert.rejects(client.call("delete", path, { path: { collection: "a", document_id } }), (error) => {
      assert.ok(error instanceof SpanseekError);
      assert.match(error.message, /document_id/);
      return error.hint !== "";
    });
  }
  await assert.rejects(client.call("get", "/collections/{collection}", {}), /no collection/);
  assert.deepEqual(sent, []);
  await client.call("get", path, { path: { collection: "a", document_id: "../b" } });
  assert.equal(sent[0][0], "http://none/collections/a/documents/..%2Fb");
});

test("a request that was refused unprocessed is sent again after Retry-After", async () => {
  const answers = [
    new Response("{}", { status: 429, headers: { "Retry-After": "0" } }),
    new Response("[]", { status: 200 }),
    new Response("{}", { status: 429, headers: { "Retry-After": "600" } }),
  ];
  const sent = [];
  const client = new Client("http://none/", { key: "k", fetch: async (...given) => (sent.push(given), answers.shift()) });
  await client.call("get", "/collections", {});
  assert.deepEqual(sent.map(([address, { headers }]) => [address, headers.Authorization]), [
    ["http://none/collections", "Bearer k"],
    ["http://none/collections", "Bearer k"],
  ]);
  await assert.rejects(client.call("get", "/collections", {}), { status: 429 });
});
