import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import type { Clock } from "./clock.ts";

const { createServer } = process.getBuiltinModule("node:http");

export type HttpServer = {
  server: Server;
  /** Takes no new connections and lets requests be finished; what is left after `graceMs` is cut. */
  drain: (graceMs: number) => Promise<void>;
};

/** Makes the server for a handler of requests. */
export type CreateServer = (handle: RequestListener, options: { clock: Clock }) => HttpServer;

export type Served = Pick<HttpServer, "drain"> & {
  /** The port that was taken, also where 0 was asked for. */
  port: number;
};

/** Listens for requests: with node:http's own server, or another. Rejects when the port is taken. */
export async function serve(
  handle: RequestListener,
  options: { port: number; host: string; clock: Clock; createServer?: CreateServer | undefined },
): Promise<Served> {
  const { port, host } = options;
  const { server, drain } = (options.createServer ?? createPlainServer)(handle, options);
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  return { drain, port: typeof address === "object" && address ? address.port : port };
}

const createPlainServer: CreateServer = (handle, { clock }) => {
  const server = createServer(handle);
  return {
    server,
    drain: async (graceMs) => {
      const closed = once(server, "close");
      server.close();
      const cancel = clock.after(graceMs, () => server.closeAllConnections());
      await closed;
      cancel();
    },
  };
};
