import { pathOf } from "../intake/adapters.ts";
import type { Answer } from "../intake/answers.ts";
import type { Body, BodyReader } from "../intake/body.ts";
import { SIGNATURE_NAME, type Webhook } from "../intake/webhook.ts";

/** `Request` to `Response`: Hono, route handlers of Next.js and others of that kind. */
export type Fetch = (request: Request) => Promise<Response>;

/** Answers requests of the Fetch API; every path that comes here is the webhook's. */
export function createFetch(webhook: Webhook, body: BodyReader): Fetch {
  return async (request) => {
    const signature = request.headers.get(SIGNATURE_NAME);
    const answered = Promise.withResolvers<Answer>();
    await webhook(
      {
        method: request.method,
        path: pathOf(request),
        id: undefined,
        // Several are joined with a comma and a space here, which the grammar of the header refuses.
        signatures: signature === null ? [] : [signature],
        header: (name) => request.headers.get(name),
        readBody: async () => (request.bodyUsed ? NO_BYTES : read(request, body)),
        framework: "fetch",
      },
      answered.resolve,
    );
    const answer = await answered.promise;
    return new Response(answer.body, answer);
  };
}

async function read(request: Request, body: BodyReader): Promise<Body> {
  return new Promise((resolve) => {
    let isOver = false;
    const { take, end } = body.collect((read) => {
      isOver = true;
      resolve(read);
    });
    const takePieces = async (): Promise<void> => {
      const pieces: AsyncIterable<unknown> | [] = request.body ?? [];
      for await (const piece of pieces) {
        take(piece);
        // What is left of it is cancelled.
        if (isOver) return;
      }
    };
    // Frameworks read a body of known length several times faster than they make a stream of it.
    const taking = request.headers.has("content-length") ? request.arrayBuffer().then(take) : takePieces();
    taking.then(
      () => end(true),
      (error: unknown) => {
        // Another reader has the stream, or it holds something else than bytes.
        if (error instanceof TypeError && !request.signal.aborted) resolve(NO_BYTES);
        end(false);
      },
    );
  });
}

const NO_BYTES: Body = { ok: false, problem: "no_bytes" };
