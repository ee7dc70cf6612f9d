import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Aborted, type Behaviour, CORRECT, type Event, type State } from "./behaviour.ts";

export type RunningReceiver = {
  url: string;
  /** How often an event was handled. */
  handled(eventId: string): number;
  close(): Promise<void>;
};

export const SECRET = "whsec_mutants";

/** A small correct receiver in plain node:http; `changes` add a bug. */
export async function startMutant(
  changes: Partial<Behaviour>,
  now: () => number,
  port = 0,
): Promise<RunningReceiver> {
  const behaviour: Behaviour = { ...CORRECT, ...changes };
  const state: State = {
    now,
    seen: new Map(),
    handled: new Map(),
    open: new Map(),
    inFlight: 0,
    requests: 0,
    copies: new Map(),
    newestCreated: 0,
    firsts: new Map(),
    secret: SECRET,
    die() {
      webhooks.close();
      webhooks.closeAllConnections();
    },
  };
  const webhooks = createServer(behaviour.serverOptions, (request, response) => {
    // Its clock is the given one; node's own Date header would show the real time.
    response.sendDate = false;
    void receive(request, response, behaviour, state);
  });
  webhooks.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    behaviour.onClientError(error, state, socket instanceof Socket ? socket.bytesRead : 0);
    socket.destroy();
  });
  webhooks.listen(port, "127.0.0.1");
  await once(webhooks, "listening");
  const address = webhooks.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/webhooks`,
    handled: (eventId) => state.handled.get(eventId) ?? 0,
    async close() {
      webhooks.closeAllConnections();
      await new Promise((resolve) => webhooks.close(resolve));
    },
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: Behaviour,
  state: State,
): Promise<void> {
  state.requests += 1;
  state.inFlight += 1;
  const answer = (status: number): void => {
    state.inFlight -= 1;
    behaviour.answer(response, status);
  };
  const refused = behaviour.precheck(request, state);
  if (refused !== undefined) {
    request.resume();
    return answer(refused);
  }
  if (request.method !== "POST") return answer(405);

  let body: Buffer;
  try {
    body = await behaviour.readBody(request, state);
  } catch (error) {
    if (error instanceof Aborted) behaviour.onAborted(error.partial, state);
    return answer(400);
  }
  if (body.length > behaviour.maximumBodyBytes) return answer(413);
  behaviour.onUnverified(body, state);
  const headers = behaviour.signatureHeaders(request);
  const isRefused = !behaviour.verdict(verified(headers, body, behaviour, state), headers, state);
  if (isRefused && behaviour.verifies(request, body)) return answer(401);

  const event = behaviour.parse(body, state);
  if (!isEvent(event)) return answer(400);
  const acceptable = behaviour.acceptable(event, state);
  if (acceptable !== true) return answer(acceptable);
  state.copies.set(event.id, (state.copies.get(event.id) ?? 0) + 1);
  const status = await behaviour.beforeAnswer(event, state);
  if (status !== undefined) return answer(status);
  const key = behaviour.dedupeKey(event, body);
  const fresh = await behaviour.remember(key, state);
  if (fresh) {
    // Handled after the answer, as heavy work should be.
    const times = behaviour.handlings(event, state);
    const handle = (): void => {
      state.handled.set(event.id, (state.handled.get(event.id) ?? 0) + times);
      behaviour.afterHandled(event, state);
    };
    const delayMs = behaviour.handledAfterMs(event);
    if (delayMs === 0) setImmediate(handle);
    else setTimeout(handle, delayMs).unref();
  }
  answer(fresh ? 200 : behaviour.duplicateStatus);
}

function verified(headers: string[], body: Buffer, behaviour: Behaviour, state: State): boolean {
  const header = behaviour.chooseHeader(headers);
  if (header === undefined) return false;
  const { ts, v1s } = behaviour.takeApart(header, state);
  const t = behaviour.chooseT(ts, Math.floor(state.now() / 1_000));
  if (t === undefined || !behaviour.ageAccepted(t.aged, state.now())) return false;
  const expected = behaviour
    .keys(state.secret)
    .flatMap((key) =>
      behaviour
        .signedStrings(t.signed, body)
        .map((signed) => createHmac("sha256", key).update(signed).digest()),
    );
  return behaviour
    .chooseV1(v1s)
    .some((candidate) => expected.some((digest) => behaviour.digestAccepted(candidate, digest, state)));
}

function isEvent(value: unknown): value is Event {
  return (
    typeof value === "object" &&
    value !== null &&
    "id" in value &&
    typeof value.id === "string" &&
    /^evt_[0-9a-fA-F]{32}$/.test(value.id) &&
    "type" in value &&
    typeof value.type === "string" &&
    "data" in value &&
    typeof value.data === "object" &&
    value.data !== null &&
    "object" in value.data &&
    typeof value.data.object === "object" &&
    value.data.object !== null
  );
}
