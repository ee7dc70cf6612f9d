import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export type Proxy = {
  /** The address of the server, through the proxy. */
  url: string;
  /** The next answer with this in it is not passed on; instead its line is cut. What was asked for is done by then. */
  cutAnswer: (containing: string) => void;
  /** Keeps the next answer with this in it back until it is let go. */
  holdAnswer: (containing: string) => { held: Promise<void>; letGo: () => void };
  /** The next question with this in it is refused by the server as bad SQL. */
  spoil: (containing: string) => void;
  /** Passes nothing on any more of the connections that are there, and leaves them open: as when a machine is gone. */
  silence: () => void;
  /** Cuts every connection now. */
  cutAll: () => void;
  /** Cuts every connection, and each that comes, for as long as the server is away. */
  setAway: (away: boolean) => void;
};

/** Stands between a client and PostgreSQL, and cuts the line when it is told to. */
export async function proxyTo(url: string): Promise<Proxy> {
  const target = new URL(url);
  const clients = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  let cutting: string | undefined;
  let spoiling: string | undefined;
  let holding:
    | { containing: string; held: PromiseWithResolvers<void>; go: PromiseWithResolvers<void> }
    | undefined;
  let isAway = false;
  const server = createServer((client) => {
    if (isAway) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    clients.add(client);
    client.on("close", () => {
      clients.delete(client);
      upstream.end();
    });
    client.on("error", () => undefined);
    upstream.on("error", () => client.destroy());
    upstream.on("close", () => client.destroy());
    client.on("data", (data) => {
      if (silent.has(client)) return;
      const at = spoiling === undefined ? -1 : data.indexOf(spoiling);
      if (at >= 0) {
        spoiling = undefined;
        data.write("?", at);
      }
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (client.destroyed || silent.has(client)) return;
      if (cutting !== undefined && data.includes(cutting)) {
        cutting = undefined;
        client.destroy();
      } else if (holding !== undefined && data.includes(holding.containing)) {
        const { held, go } = holding;
        holding = undefined;
        upstream.pause();
        held.resolve();
        void go.promise.finally(() => {
          client.write(data);
          upstream.resume();
        });
      } else {
        client.write(data);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cutAll = (): void => {
    for (const client of clients) client.destroy();
  };
  onTestFinished(async () => {
    cutAll();
    await new Promise((resolve) => server.close(resolve));
  });
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    cutAnswer: (containing) => void (cutting = containing),
    spoil: (containing) => void (spoiling = containing),
    holdAnswer: (containing) => {
      const [held, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      holding = { containing, held, go };
      return { held: held.promise, letGo: go.resolve };
    },
    silence: () => {
      for (const client of clients) silent.add(client);
    },
    cutAll,
    setAway: (away) => {
      isAway = away;
      if (away) cutAll();
    },
  };
}
