import { connect, createServer } from "node:net";
import { bareHost } from "../domain/endpoint-url.ts";

/** Where somebody listens. */
export type Address = { hostname: string; port: number };

/** How long an answer to a connection may take; on this machine it takes none. */
const CONNECT_TIMEOUT_MS = 1_000;

/** The host and port that a connection to `url` goes to. */
export function addressOf(url: string): Address {
  const parsed = new URL(url);
  const defaultPort = parsed.protocol === "https:" ? 443 : 80;
  return { hostname: bareHost(parsed), port: parsed.port === "" ? defaultPort : Number(parsed.port) };
}

/** Whether a TCP connection to that address is accepted now. */
export function isListening({ hostname, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port });
    const finish = (accepted: boolean): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => finish(false));
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
  });
}

/** Whether `wanted` is free on this machine: answers it, or undefined where it is taken; 0 answers any free port. */
export function freePort(wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(wanted, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}
