import type { LookupFunction } from "node:net";
import type { Failure } from "../domain/outcome.ts";
import { type AnswerListener, createAnswerParser } from "./answer-parser.ts";
import { connect } from "./connect.ts";
import { classifyError } from "./outcome.ts";
import type { Turns } from "./turns.ts";

/** Callbacks of one request: its answer, piece by piece, or a failure. `onWhole` or `onFailure` is the last call. */
export type Exchange = Omit<AnswerListener, "onBroken"> & { onFailure(failure: Failure): void };

export type Connection = ReturnType<typeof openConnection>;

/** Connects to the host of `url`. One request at a time; unexpected bytes end the connection. */
export function openConnection(options: {
  url: URL;
  allowedHosts: readonly string[];
  lookup?: LookupFunction | undefined;
  turns: Turns;
}) {
  const { turns } = options;
  const { tcp, socket, readyEvent } = connect(options);
  const waiting: (() => void)[] = [];
  let exchange: Exchange | undefined;
  let isReady = false;

  /** Ends the exchange, if any; the connection is unusable after a failure. */
  function fail(failure: Failure): void {
    const failed = exchange;
    exchange = undefined;
    destroy();
    failed?.onFailure(failure);
  }

  function hangUp(): void {
    const isHandshake = tcp !== socket && !isReady;
    fail(
      isHandshake
        ? { error: "tls", detail: "the connection was closed before it was secure" }
        : { error: "closed", detail: "the connection was closed before the answer was whole" },
    );
  }

  function destroy(): void {
    socket.destroy();
    if (tcp !== socket) tcp.destroy();
  }

  const parser = createAnswerParser({
    onInterim: (status) => exchange?.onInterim?.(status),
    onHead: (head) => exchange?.onHead(head),
    onBody: (bytes) => exchange?.onBody(bytes),
    onWhole(kept) {
      const ended = exchange;
      exchange = undefined;
      ended?.onWhole(kept);
    },
    onBroken: (problem) => fail({ error: "protocol", detail: problem }),
  });

  socket.once(readyEvent, () => {
    isReady = true;
    for (const begin of waiting.splice(0)) begin();
  });
  socket.on("data", (bytes: Buffer) => {
    if (exchange === undefined) return destroy();
    if (!turns.take(socket, bytes)) return;
    parser.feed(bytes);
    // More data may come, perhaps without end.
    if (exchange !== undefined) turns.giveWay(socket);
  });
  socket.on("end", () => {
    parser.end();
    hangUp();
  });
  // With TLS there are two sockets, and either can be the first to fail.
  for (const one of new Set([socket, tcp])) one.on("error", (error: Error) => fail(classifyError(error)));
  socket.on("close", hangUp);

  return {
    /** Calls `action` once bytes can be sent; at once if they can be now. */
    whenReady(action: () => void): void {
      if (isReady) action();
      else waiting.push(action);
    },
    /** Begins to read the answer to the request that is written next. */
    begin(next: Exchange): void {
      exchange = next;
      parser.next();
    },
    write: (bytes: Uint8Array, sent?: () => void): boolean => socket.write(bytes, sent),
    halfClose: (): void => void socket.end(),
    setNoDelay: (): void => void tcp.setNoDelay(true),
    reset: (): void => void tcp.resetAndDestroy(),
    destroy,
    isOpen: (): boolean => isReady && !socket.destroyed && !socket.readableEnded && socket.writable,
  };
}
