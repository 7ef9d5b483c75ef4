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
}
