import { once } from "node:events";
import { createServer } from "node:net";

const LOWEST = 15_000;
const PORTS_PER_WORKER = 1_000;
const WORKERS = 16;
const handedOut = new Set<number>();

/**
 * A free port on loopback, below the range from which the system takes ports for connections and for port 0: a restarted
 * program must find it free again while other tests run. Each worker has its own ports, so no other test's program can
 * take this one before the program listens.
 */
export async function freePort(worker = Number(process.env["VITEST_POOL_ID"] ?? 0)): Promise<number> {
  const lowest = LOWEST + (worker % WORKERS) * PORTS_PER_WORKER;
  for (;;) {
    const port = lowest + Math.floor(Math.random() * PORTS_PER_WORKER);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await canListen(port)) return port;
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
