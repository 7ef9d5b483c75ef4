export type { components, operations, paths } from "./api.js";
export { Client, type ClientOptions } from "./client.js";
export { type Added, Collection, type Document } from "./collection.js";
export { SpanseekError } from "./errors.js";
export type { Answer, Body, Caller, Method, Options, PathWith } from "./operations.js";
