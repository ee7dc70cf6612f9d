/** No good answer from the REST API, after the tries that made sense. */
export class RestError extends Error {
  override readonly name = "RestError";
  /** The HTTP status, or undefined when no answer came. */
  readonly status: number | undefined;
  /** The service's own code (SPEC §7 Errors), such as `unauthorized`, or one of `network`, `malformed`. */
  readonly code: string;

  constructor(options: { status?: number; code: string; message: string }) {
    super(options.message);
    this.status = options.status;
    this.code = options.code;
  }

  /** The message as a sentence, and another one on what to do about it. */
  get explanation(): string {
    const advice =
      this.status === 401 ? "Check API_KEY." : "Check API_BASE_URL, and whether the service is up.";
    return `${this.message.replace(/\.?$/, ".")} ${advice}`;
  }
}
