import { pathOf } from "../intake/adapters.ts";
import { bytesOf, type BodyReader } from "../intake/body.ts";
import { SIGNATURE_NAME, type Answer, type Webhook } from "../intake/webhook.ts";

/** `Request` to `Response`: Hono, route handlers of Next.js and similar frameworks. */
export type Fetch = (request: Request) => Promise<Response>;

/** Answers requests of the Fetch API. Every path counts as the webhook's. */
export function createFetch(webhook: Webhook, body: BodyReader): Fetch {
  return async (request) => {
    const answered = Promise.withResolvers<Answer>();
    const header = (name: string): string | null => request.headers.get(name);
    await webhook(
      {
        method: request.method,
        path: pathOf(request),
        id: undefined,
        // Fetch joins several headers with a comma and a space, which the header's grammar refuses.
        signatures: [header(SIGNATURE_NAME) ?? []].flat(),
        header,
        readBody: async () => new Promise((resolve) => void read(request, body.collect(resolve))),
        framework: "fetch",
      },
      answered.resolve,
    );
    const answer = await answered.promise;
    return new Response(answer.body, answer);
  };
}

/** How much of a refused body is still read. Cancelling it earlier would reset the connection and might lose the answer. */
const DROPPED_BYTES = 16 * 1_048_576;

async function read(request: Request, { take, end }: ReturnType<BodyReader["collect"]>): Promise<void> {
  try {
    const pieces: AsyncIterable<unknown> | [] = request.body ?? [];
    let dropped = 0;
    if (request.bodyUsed) take("it was read");
    // Frameworks read a body of known length several times faster than they stream it.
    else if (request.headers.has("content-length")) take(await request.arrayBuffer());
    else
      for await (const piece of pieces) {
        if (take(piece)) continue;
        dropped += bytesOf(piece)?.byteLength ?? DROPPED_BYTES;
        if (dropped > DROPPED_BYTES) return;
      }
    end(true);
  } catch (error) {
    // Another reader has the stream, or it does not contain bytes.
    if (error instanceof TypeError && !request.signal.aborted) take("no bytes");
    end(false);
  }
}
