import { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { onTestFinished } from "vitest";

/** Starts `server` on a free port of loopback. `close`, or the end of the test, stops it and its connections. */
export async function listen(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      if (server instanceof HttpServer) server.closeAllConnections();
    });
  onTestFinished(() => void close());
  return { url: `http://127.0.0.1:${port}`, port, close };
}
