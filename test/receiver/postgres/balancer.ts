import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** How often one request is sent: to another server when the first went away over it. */
const TRIES = 2;

/**
 * What stands before several ingest processes. As a balancer that retries on the next server does, it chooses among
 * `ports()` when the client has sent something, since a process may go away before that, and sends a request again whose
 * process goes away before a byte of its answer came.
 */
export async function balanceOver(ports: () => readonly number[]): Promise<string> {
  const clients = new Set<Socket>();
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client);
    /** What the client has sent since the last answer. */
    let asked: Buffer[] = [];
    let tries = 1;
    let answered = false;
    let upstream: Socket | undefined;
    client.on("error", () => undefined);
    client.on("close", () => {
      clients.delete(client);
      upstream?.destroy();
    });
    client.on("data", (data) => {
      if (answered) [asked, tries, answered] = [[], 1, false];
      asked.push(data);
      if (upstream) upstream.write(data);
      else upstream = toNext();
    });
    client.on("end", () => void (upstream ?? client).end());

    function toNext(): Socket {
      turn += 1;
      const all = ports();
      const next = connect({
        port: all[turn % all.length] ?? 0,
        host: "127.0.0.1",
        allowHalfOpen: true,
      });
      next.on("error", () => undefined);
      next.on("data", (data) => {
        answered = true;
        client.write(data);
      });
      next.on("end", () => next.end());
      next.on("close", () => {
        if (client.destroyed) return;
        if (answered || tries === TRIES) {
          client.end();
          return;
        }
        tries += 1;
        upstream = toNext();
      });
      for (const data of asked) next.write(data);
      if (client.readableEnded) next.end();
      return next;
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const client of clients) client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}
