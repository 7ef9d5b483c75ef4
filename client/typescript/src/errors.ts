/** An error of the API or of the client. `code` is stable, `hint` says what to do; a proxy's error has no code. */
export class SpanseekError extends Error {
  override readonly name = "SpanseekError";

  constructor(
    message: string,
    /** 0 where no answer says it. */
    readonly status = 0,
    readonly code = "",
    readonly hint = "",
    readonly fields: readonly { field: string; message: string }[] = [],
    readonly requestId = "",
  ) {
    super(message);
  }

  /** The error of an answer, whose body is read. */
  static async of(response: Response): Promise<SpanseekError> {
    const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    const text = (name: string): string => (typeof body[name] === "string" ? body[name] : "");
    return new SpanseekError(
      text("detail") || `The server answered ${response.status} ${response.statusText}.`,
      response.status,
      text("code"),
      text("hint"),
      Array.isArray(body["errors"]) ? body["errors"] : [],
      response.headers.get("X-Request-ID") ?? "",
    );
  }

  /** The error where no answer came from an address, or none of Spanseek; a request that was aborted stays one. */
  static from(failure: unknown, url: string): unknown {
    if (failure instanceof SyntaxError) {
      const hint = "Check the address: something else answers there.";
      return new SpanseekError(`${url} gave no answer of a Spanseek server: ${failure.message}.`, 0, "", hint);
    }
    if (!(failure instanceof TypeError)) return failure;
    const why = failure.cause instanceof Error && failure.cause.message ? failure.cause.message : failure.message;
    return new SpanseekError(`No answer from ${url}: ${why}.`, 0, "", "Check the address, and that the server runs.");
  }
}
