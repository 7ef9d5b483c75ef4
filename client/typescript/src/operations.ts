/** What the OpenAPI document says of an operation, as types: parameters, body and answer; and whoever calls it. */

import type { paths } from "./api.js";

export type Method = "get" | "put" | "post" | "patch" | "delete";

/** The paths that have a method: `PathWith<"get">` has `/collections`. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: object } ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends PathWith<M>> = NonNullable<paths[P][M]>;

type Parameters<O, Kind extends "path" | "query"> = O extends { parameters: infer All }
  ? All extends { [K in Kind]: infer Given }
    ? { [K in Kind]: Given }
    : All extends { [K in Kind]?: infer Given }
      ? { [K in Kind]?: NonNullable<Given> }
      : unknown
  : unknown;

type JsonOf<Given> = Given extends { content: { "application/json": infer Json } } ? Json : never;

/** The JSON body of an operation. */
export type Body<M extends Method, P extends PathWith<M>> = Operation<M, P> extends { requestBody?: infer Given }
  ? JsonOf<NonNullable<Given>>
  : never;

type WithBody<Given> = [Given] extends [never] ? unknown : { body: Given };

/** What a call needs besides its path: `path` and `query` parameters, and `body`. */
export type Options<M extends Method, P extends PathWith<M>> = Parameters<Operation<M, P>, "path"> &
  Parameters<Operation<M, P>, "query"> &
  WithBody<Body<M, P>> & { signal?: AbortSignal };

/** The JSON answer of an operation that succeeds. */
export type Answer<M extends Method, P extends PathWith<M>> = Operation<M, P> extends { responses: infer All }
  ? { [Status in keyof All]: Status extends 200 | 201 | 202 ? JsonOf<All[Status]> : never }[keyof All]
  : never;

/** Calls operations of one server. `Client` does. */
export interface Caller {
  call<M extends Method, P extends PathWith<M>>(method: M, path: P, options: Options<M, P>): Promise<Answer<M, P>>;
  lines<M extends Method, P extends PathWith<M>>(
    method: M,
    path: P,
    options: Options<M, P>,
  ): AsyncGenerator<Record<string, unknown>>;
}
