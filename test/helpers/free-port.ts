import { once } from "node:events";
import { createServer } from "node:net";

const LOWEST = 15_000;
const COUNT = 16_000;
const handedOut = new Set<number>();

/**
 * A port on loopback that nobody listens on now, below the range from which connections and listeners on port 0 get
 * theirs: what is stopped and started again must find it free once more, whatever other tests do meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * COUNT);
    if (handedOut.has(port) || !(await canListen(port))) continue;
    handedOut.add(port);
    return port;
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
