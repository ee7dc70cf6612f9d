import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");
const listeningSchema = z.object({ msg: z.literal("listening"), url: z.string(), admin_url: z.string() });

export type ReceiverProcess = {
  pid: number;
  url: string;
  adminUrl: string;
  /** From the start of the process until it listened. */
  startMs: number;
  directory: string;
  /** Resident memory of the process that acknowledges, in bytes. */
  memoryBytes: () => Promise<number>;
  stop: () => Promise<void>;
  /** Ends it and its worker at once. */
  kill: () => Promise<void>;
};

/**
 * Starts the receiver as users do: default log level, everything on, and a pipe that reads its log. The inbox is a new
 * one in a separate directory, or the one in `directory`, which is then not deleted.
 */
export async function startReceiver(options: {
  role: "all" | "ingest";
  secret: string;
  directory?: string;
  environment?: Record<string, string>;
}): Promise<ReceiverProcess> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "bench-receiver-"));
  const startedAtMs = performance.now();
  const { PATH, HOME } = process.env;
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", join(root, "receiver/main.mjs")],
    {
      cwd: root,
      env: {
        PATH,
        HOME,
        PORT: "0",
        ADMIN_PORT: "0",
        RECEIVER_ROLE: options.role,
        SIGNING_SECRET: options.secret,
        DATABASE_URL: `sqlite:${join(directory, "receiver.db")}`,
        MIN_FREE_DISK_BYTES: "1048576",
        ...options.environment,
      },
      stdio: ["ignore", "pipe", "inherit"],
      // Its own group, which is killed as a whole.
      detached: true,
    },
  );
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const listening = await new Promise<z.infer<typeof listeningSchema>>((resolve, reject) => {
    lines.on("line", (line) => {
      const parsed = listeningSchema.safeParse(JSON.parse(line));
      if (parsed.success) resolve(parsed.data);
    });
    void exited.then(() => reject(new Error("The receiver ended before it listened.")));
  });
  const startMs = performance.now() - startedAtMs;
  // From here on the output is only drained: splitting lines costs more than writing them.
  lines.close();
  child.stdout.resume();
  return {
    pid: child.pid ?? 0,
    url: listening.url,
    adminUrl: listening.admin_url,
    startMs,
    directory,
    memoryBytes: async () => metric(listening.admin_url, "process_resident_memory_bytes"),
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
      if (options.directory === undefined) rmSync(directory, { recursive: true });
    },
    kill: async () => {
      process.kill(-(child.pid ?? 0), "SIGKILL");
      await exited;
    },
  };
}

/** The sum of a metric over the given labels. */
export async function metric(adminUrl: string, name: string, labels = /(?:)/): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const lines = text
    .split("\n")
    .filter((line) => (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && labels.test(line));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
