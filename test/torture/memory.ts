import { readdirSync, readFileSync } from "node:fs";
import { z } from "zod";

/** What a process uses: its whole memory, the heap of its main thread, and its descriptors. */
export type Footprint = { rssMb: number; heldMb: number; descriptors: number };

const answerSchema = z.object({
  id: z.int(),
  result: z.object({ result: z.object({ value: z.number().optional() }).optional() }),
});

/**
 * Measures a process through its inspector (`--inspect=127.0.0.1:0`), after a garbage collection: the amount of garbage
 * depends more on the load of the machine than on the program.
 */
export async function footprint(pid: number, inspectorUrl: string): Promise<Footprint> {
  const held = await heldBytes(inspectorUrl);
  const { rssMb, descriptors } = look(pid);
  return { rssMb, heldMb: held / 1_048_576, descriptors };
}

/** The system's figures for a process. */
export function look(pid: number): Omit<Footprint, "heldMb"> {
  const status = readFileSync(`/proc/${String(pid)}/status`, "utf8");
  const rssKb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
  return { rssMb: rssKb / 1_024, descriptors: readdirSync(`/proc/${String(pid)}/fd`).length };
}

async function heldBytes(inspectorUrl: string): Promise<number> {
  const socket = new WebSocket(inspectorUrl);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve(), { once: true });
      socket.addEventListener("error", () => reject(new Error(`no inspector at ${inspectorUrl}`)), {
        once: true,
      });
    });
    let asked = 0;
    const ask = async (method: string, params: object = {}): Promise<number | undefined> => {
      const id = (asked += 1);
      const answer = new Promise<number | undefined>((resolve) => {
        const hear = ({ data }: MessageEvent): void => {
          const parsed = answerSchema.safeParse(JSON.parse(String(data)));
          if (parsed.data?.id !== id) return;
          socket.removeEventListener("message", hear);
          resolve(parsed.data.result.result?.value);
        };
        socket.addEventListener("message", hear);
      });
      socket.send(JSON.stringify({ id, method, params }));
      return answer;
    };
    // Twice, because finalizers release objects only for the second.
    await ask("HeapProfiler.collectGarbage");
    await ask("HeapProfiler.collectGarbage");
    const expression = "(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())";
    return (await ask("Runtime.evaluate", { expression })) ?? Number.NaN;
  } finally {
    socket.close();
  }
}
