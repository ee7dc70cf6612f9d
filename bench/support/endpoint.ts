import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { z } from "zod";

/** Starts an endpoint that answers `status` to everything, in a separate process. */
export async function startEndpoint(status: number): Promise<{ url: string; close: () => void }> {
  const child = fork(join(import.meta.dirname, "endpoint-process.ts"), [String(status)]);
  const [port] = await once(child, "message");
  return {
    url: `http://127.0.0.1:${z.int().parse(port)}/webhooks`,
    close: () => void child.kill(),
  };
}
