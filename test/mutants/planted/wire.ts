import { setTimeout as sleep } from "node:timers/promises";
import type { Mutant } from "../mutants.ts";
import { Aborted, CORRECT } from "../behaviour.ts";
import { dies, header, lull } from "./helpers.ts";

/** Bugs in HTTP itself, and requests that crash the process. */
export const WIRE: Record<string, Mutant> = {
  "json-parser-first": {
    bug: "has its body parsed only when the Content-Type says JSON",
    plant: {
      precheck: (request) => (header(request, "content-type").includes("application/json") ? undefined : 400),
    },
    caughtBy: "wire.no-content-type",
    cause: "refused",
  },
  "exact-content-type": {
    bug: "compares the Content-Type as a whole",
    plant: {
      precheck: (request) =>
        header(request, "content-type").startsWith("application/json;") ? 415 : undefined,
    },
    caughtBy: "wire.charset",
    cause: "wrong_media_type",
  },
  "needs-a-length": {
    bug: "answers 411 to a chunked body",
    plant: { precheck: (request) => (header(request, "transfer-encoding") === "" ? undefined : 411) },
    caughtBy: "wire.chunked",
    cause: "length_required",
  },
  "modern-only": {
    bug: "refuses HTTP/1.0",
    plant: { precheck: (request) => (request.httpVersion === "1.0" ? 505 : undefined) },
    caughtBy: "wire.http-1.0",
    cause: "server_error",
  },
  "few-headers": {
    bug: "refuses more than thirty headers",
    plant: { precheck: (request) => (request.rawHeaders.length > 60 ? 431 : undefined) },
    caughtBy: "wire.many-headers",
    cause: "refused",
  },
  "first-read": {
    bug: "takes the first read of the socket for the whole body",
    plant: {
      readBody: async (request, state) => {
        let reads = 0;
        request.on("data", () => (reads += 1));
        const body = await CORRECT.readBody(request, state);
        return reads > 1 && body.length < 5_000 && !body.includes("東京") ? body.subarray(0, 40) : body;
      },
    },
    caughtBy: "wire.segmented",
    cause: "signature_refused",
    alsoCauses: ["length_required"],
  },
  impatient: {
    bug: "gives a body half a second",
    plant: {
      readBody: async (request, state) => {
        const body = await Promise.race([CORRECT.readBody(request, state), sleep(600)]);
        if (body === undefined) throw new Aborted(Buffer.alloc(0));
        return body;
      },
    },
    caughtBy: "wire.slow-body",
    cause: "refused",
  },
  "one-at-a-time": {
    bug: "finishes one request before it reads the next",
    responseTimeoutMs: 8_000,
    plant: {
      readBody: async (request, state) => {
        const before = state.handled.get("stuck") ?? 0;
        state.handled.set("stuck", before + 1);
        const body = await CORRECT.readBody(request, state).finally(() =>
          state.handled.set("stuck", (state.handled.get("stuck") ?? 1) - 1),
        );
        if (before === 0) return body;
        while ((state.handled.get("stuck") ?? 0) > 4) await sleep(20);
        return body;
      },
    },
    caughtBy: "wire.stalled-clients",
    cause: "timed_out",
  },
  "dies-on-bad-json": dies("lets JSON.parse throw out of an event handler", "wire.no-json", {
    parse: (body, state) => {
      const value = CORRECT.parse(body, state);
      if (value === undefined) state.die();
      return value;
    },
  }),
  "dies-on-no-object": dies("reads data.object of what has no data", "wire.no-object", {
    parse: (body, state) => {
      const value = CORRECT.parse(body, state);
      if (value === null) state.die();
      return value;
    },
  }),
  "dies-on-deep-nesting": dies("walks the body recursively", "wire.deep-nesting", {
    parse: (body, state) => {
      if (body.length > 100_000 && body[1_000] === 0x5b) state.die();
      return CORRECT.parse(body, state);
    },
  }),
  "dies-on-invalid-utf8": dies("decodes strictly, and does not catch", "wire.invalid-utf8", {
    parse: (body, state) => {
      if (body[2] === 0xff) state.die();
      return CORRECT.parse(body, state);
    },
  }),
  "dies-on-reset": {
    bug: "does not listen for the error of a request that was cut",
    meets: "all",
    plant: {
      onAborted: (partial, state) => (partial.length > 100 && state.requests > 150 ? state.die() : undefined),
    },
    caughtBy: "wire.reset-mid-body",
    cause: "ended",
  },
  "dies-on-truncation": dies("parses what arrived although the client ended early", "wire.body-ends-early", {
    onClientError: ({ code }, state) => (code === "HPE_INVALID_EOF_STATE" ? state.die() : undefined),
  }),
  "dies-on-reset-head": dies(
    "does not listen for the error of a connection that was cut",
    "wire.reset-mid-head",
    {
      onClientError: ({ code }, state, bytesRead) =>
        code === "ECONNRESET" && bytesRead < 100 ? state.die() : undefined,
    },
  ),
  "dies-on-rubbish": dies("throws on what is not HTTP", "wire.not-http", {
    onClientError: ({ code = "" }, state) =>
      /^HPE_INVALID_(METHOD|CONST|VERSION|URL)/.test(code) ? state.die() : undefined,
  }),
  "dies-on-large-head": dies("throws on headers beyond its limit", "wire.large-head", {
    onClientError: ({ code }, state) => (code === "HPE_HEADER_OVERFLOW" ? state.die() : undefined),
  }),
  "dies-on-large-body": dies("runs out of memory on what it has not verified yet", "wire.large-forgery", {
    onUnverified: (body, state) => {
      if (body.length > 1_500_000) state.die();
    },
  }),
  "dies-on-other-methods": dies("expects a body of every request", "wire.odd-requests", {
    precheck: ({ method }, state) => {
      if (method === "OPTIONS") state.die();
      return undefined;
    },
  }),
  "too-busy": {
    bug: "answers 429 to more than 25 events at once",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        if (state.open.size >= 25) return 429;
        state.open.set(id, 1);
        await lull(state);
        state.open.delete(id);
        return undefined;
      },
    },
    burst: 40,
    caughtBy: "load.burst-at-first",
    cause: "rate_limited",
  },
  "too-busy-for-good": {
    bug: "answers 429 to more than 25 events at once, and 409 when they are repeated, having kept their ids",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        if (state.open.get(id) === 2) return 409;
        const underWay = [...state.open.values()].filter((value) => value === 1).length;
        state.open.set(id, underWay < 25 ? 1 : 2);
        if (underWay >= 25) return 429;
        await lull(state);
        state.open.delete(id);
        return undefined;
      },
    },
    burst: 40,
    caughtBy: "load.burst",
    cause: "duplicate_refused",
    alsoCauses: ["rate_limited"],
  },
  "stops-after-two": {
    bug: "takes the third request of a connection for the rest of the second",
    plant: {
      precheck: ({ socket }, { firsts }) => {
        const number = Number(firsts.get(socket) ?? 0) + 1;
        firsts.set(socket, number);
        return number > 2 ? 400 : undefined;
      },
    },
    caughtBy: "wire.same-connection",
    cause: "refused",
  },
  "dies-on-half-close": {
    bug: "throws when a client ends its side after a whole request",
    plant: {
      precheck: (request, state) => {
        request.socket.once("end", () => (request.complete ? state.die() : undefined));
        return undefined;
      },
      beforeAnswer: (_, state) => lull(state),
    },
    caughtBy: "wire.half-close",
    cause: "ended",
    meets: "named",
  },
  "few-copies": {
    bug: "answers 429 to more than twenty copies of an event at once",
    plant: {
      beforeAnswer: async ({ id }, state) => {
        const copies = state.copies.get(id) ?? 0;
        if (copies > 20) return 429;
        await lull(state, id);
        return undefined;
      },
    },
    caughtBy: "load.one-event-storm",
    cause: "rate_limited",
  },
  "locks-out": {
    bug: "locks an address out after three forgeries",
    plant: {
      precheck: (_, { firsts }) => (Number(firsts.get("refused") ?? 0) > 3 ? 429 : undefined),
      verdict: (isVerified, _, { firsts }) => {
        if (!isVerified) firsts.set("refused", Number(firsts.get("refused") ?? 0) + 1);
        return isVerified;
      },
    },
    caughtBy: "load.among-forgeries",
    cause: "rate_limited",
    meets: "named",
  },
  "parses-first": dies("parses before it verifies, and lets the parser throw", "wire.forged-rubbish", {
    onUnverified: (body, state) => {
      if (CORRECT.parse(body, state) === undefined && /^[ -~]{1,99}$/.test(body.toString("latin1")))
        state.die();
    },
  }),
};
