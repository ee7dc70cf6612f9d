import { connect, createServer } from "node:net";
import { bareHost } from "../domain/endpoint-url.ts";

export type Address = { hostname: string; port: number };

/** A port of this machine that accepts connections, with its host name. */
export type Listener = { host: string; port: number };

/** The usual ports of servers in development, the likeliest first. */
export const USUAL_PORTS: readonly number[] = [
  3000, 8000, 8080, 5000, 4567, 9000, 4000, 8787, 8888, 5001, 8081, 80,
];

const CONNECT_TIMEOUT_MS = 1_000;

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

/** Those of `ports` that accept connections on this machine, in the order given. Nothing is sent to them. */
export async function listListeners(ports: readonly number[] = USUAL_PORTS): Promise<Listener[]> {
  const asked = await Promise.all(
    ports.map(async (port) => ({ port, isOpen: await isListening({ hostname: "localhost", port }) })),
  );
  return asked.filter(({ isOpen }) => isOpen).map(({ port }) => ({ host: "localhost", port }));
}

/** Returns `wanted` if that port is free on this machine, or any free port for 0; undefined if it is taken. */
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
