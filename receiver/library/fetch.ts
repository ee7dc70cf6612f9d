import type { Answer } from "../intake/answers.ts";
import type { Body, BodyReader } from "../intake/body.ts";
import { SIGNATURE_NAME, type Webhook } from "../intake/webhook.ts";

/** `Request` to `Response`: Hono, route handlers of Next.js and others of that kind. */
export type Fetch = (request: Request) => Promise<Response>;

/** Answers requests of the Fetch API; every path that comes here is the webhook's. */
export function createFetch(webhook: Webhook, body: BodyReader): Fetch {
  return async (request) => {
    const { headers } = request;
    const signature = headers.get(SIGNATURE_NAME);
    const length = headers.get("content-length");
    const answered = Promise.withResolvers<Answer>();
    await webhook(
      {
        method: request.method,
        path: new URL(request.url).pathname,
        id: undefined,
        // Several are joined with a comma and a space here, which the grammar of the header refuses.
        signatures: signature === null ? [] : [signature],
        traceparent: headers.get("traceparent"),
        encoding: headers.get("content-encoding"),
        announcedBytes: length === null ? undefined : Number(length),
        readBody: async () => read(request, body),
      },
      answered.resolve,
    );
    const answer = await answered.promise;
    return new Response(answer.body, { status: answer.status, headers: pairsOf(answer.headers) });
  };
}

async function read(request: Request, body: BodyReader): Promise<Body> {
  if (request.bodyUsed) return ALREADY_READ;
  return new Promise((resolve) => {
    let isOver = false;
    const { take, end } = body.collect((read) => {
      isOver = true;
      resolve(read);
    });
    const takePieces = async (): Promise<void> => {
      const pieces: AsyncIterable<Uint8Array> | [] = request.body ?? [];
      for await (const piece of pieces) {
        take(piece);
        // What is left of it is cancelled.
        if (isOver) return;
      }
    };
    const takeWhole = async (): Promise<void> => {
      const bytes = await request.arrayBuffer().catch((error: unknown) => {
        if (error instanceof TypeError && !request.signal.aborted) resolve(ALREADY_READ);
        throw error;
      });
      take(new Uint8Array(bytes));
    };
    // Frameworks read a body of known length several times faster than they make a stream of it.
    const taking = request.headers.has("content-length") ? takeWhole() : takePieces();
    taking.then(
      () => end(true),
      () => end(false),
    );
  });
}

const ALREADY_READ: Body = { ok: false, problem: "already_read" };

function pairsOf(names: readonly string[]): [string, string][] {
  return names.flatMap((name, at) => (at % 2 === 0 ? [[name, names[at + 1] ?? ""] as [string, string]] : []));
}
