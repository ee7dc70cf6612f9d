import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { listen } from "../../simulator/service/server.ts";
import type { SimulatorOptions } from "../../simulator/service/compose.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";
import { openSimulator } from "../helpers/simulator.ts";

/** No server of the machine that runs the tests counts as a receiver. */
const nobody = async () => [];

/** A simulator with its servers in this process, its clock standing still, closed when the test is over. */
export async function openDashboard(
  options: SimulatorOptions & { port?: number } = {},
): Promise<{ url: string; port: number; simulator: Simulator; close: () => Promise<void> }> {
  const { port = 0, ...more } = options;
  const simulator = openSimulator({ clock: "manual", calls: 40, listListeners: nobody, ...more });
  const listening = await listen(simulator, {
    port,
    host: "127.0.0.1",
    onError: (error) => {
      throw error;
    },
  });
  if (!listening.ok) throw new Error(listening.message);
  const { server } = listening;
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= server.close().then(() => simulator.close()));
  onTestFinished(close);
  return { url: `${server.url}/dashboard`, port: server.port, simulator, close };
}

/** Opens a page of the dashboard as a link does, without a reload. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, "", ${JSON.stringify(`/dashboard${path}`)});
    dispatchEvent(new PopStateEvent("popstate"))`,
  );
}
