import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { onTestFinished } from "vitest";

/** What a server does with a connection, at the level of bytes. */
export type Conversation = (socket: Socket, connection: number) => void;

/**
 * A server below HTTP: it writes the bytes that a test gives it, after a whole request has arrived (with `onConnect` at once).
 * It is closed with all its connections when the test is over.
 */
export async function startRawServer(
  conversation: Conversation,
  options: { onConnect?: boolean; tls?: TlsOptions } = {},
) {
  const sockets = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket) => {
    const connection = ++connections;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    if (options.onConnect === true) return conversation(socket, connection);
    onRequest(socket, () => conversation(socket, connection));
  };
  const server: Server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}/`,
    tlsUrl: `https://localhost:${port}/`,
    port,
    connections: () => connections,
    close,
  };
}

/** Calls `then` once the headers and the announced bytes of the body have arrived. */
function onRequest(socket: Socket, then: () => void): void {
  let bytes = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf("\r\n\r\n");
    if (end === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(bytes.subarray(0, end).toString())?.[1] ?? 0);
    if (bytes.length < end + 4 + length) return;
    socket.off("data", read);
    socket.resume();
    then();
  };
  socket.on("data", read);
}
