import { freePort, isListening, listListeners, USUAL_PORTS } from "../processes/listening.ts";
import { searchReceivers, takesWebhooks, type FoundReceiver } from "../processes/receiver-search.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";

const [USUAL_PORT = 3000] = USUAL_PORTS;
const [, LARGEST_PORT] = OPTION_BOUNDS.port;
/** How long a receiver that listens may take to add its routes. */
const ROUTES_MS = 2_000;

function portOf(wanted = ""): number | undefined {
  return /^[1-9]\d{0,4}$/.test(wanted) && Number(wanted) <= LARGEST_PORT ? Number(wanted) : undefined;
}

/** A port for the user's receiver: the one in the user's PORT, or 3000; any other where that is taken. */
export async function portForReceiver(wanted?: string): Promise<number> {
  const port = portOf(wanted) ?? USUAL_PORT;
  if (!(await isListening({ hostname: "localhost", port }))) return port;
  return (await freePort(0)) ?? port;
}

/** Looks for a receiver that is about to start: at the given port, then by its secret at the usual ports that were free. */
export async function createLocator(givenPort: number, secret: string, usualPorts = USUAL_PORTS) {
  const taken = new Set((await listListeners(usualPorts)).map(({ port }) => port));
  const others = usualPorts.filter((port) => port !== givenPort && !taken.has(port));
  let found: FoundReceiver | undefined;
  let firstSeenMs: number | undefined;
  return {
    found: (): FoundReceiver | undefined => found,
    locate: async (): Promise<boolean> => {
      [found] = await searchReceivers([givenPort]);
      found ??= (await searchReceivers(others, secret))[0];
      if (found === undefined) return false;
      firstSeenMs ??= performance.now();
      // It may open another port, or add its routes, later.
      const isWhereTold = found.finding === "everywhere" && found.listener.port === givenPort;
      return (
        found.hasSecret || takesWebhooks(found) || isWhereTold || performance.now() - firstSeenMs >= ROUTES_MS
      );
    },
  };
}
