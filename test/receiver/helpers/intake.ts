import type { Express } from "express";
import { onTestFinished } from "vitest";
import { createApp } from "../../../receiver/app.ts";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { compose } from "../../../receiver/receiver.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import type { NewEvent, Store } from "../../../receiver/store/port.ts";
import { serve } from "../../../shared/server.ts";
import { testConfig } from "./receiver.ts";

/** The intake without a database: everything up to the store's port, over real HTTP. */
export async function startIntake({
  clock = systemClock,
  change = () => undefined,
  maxBodyBytes = 1_048_576,
  maximumArrivingBytes,
  ...bounds
}: {
  clock?: Clock;
  maxBodyBytes?: number;
  maximumArrivingBytes?: number;
  /** Adds routes to the app. */
  change?: (app: Express) => void;
} & Omit<Parameters<typeof serve>[1], "port" | "host"> = {}) {
  const stored: NewEvent[] = [];
  const intake: Store["intake"] = {
    accept: async (batch) => {
      stored.push(...batch);
      return { ok: true, acceptances: batch.map(() => ({ duplicate: false })) };
    },
    probe: async () => ({ ok: true }),
  };
  const logLines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => void logLines.push(line) } });
  const limits = { maxBodyBytes, maximumArrivingBytes };
  const receiver = await compose({
    config: { ...testConfig({ RECEIVER_ROLE: "ingest" }), ...limits },
    store: { intake, close: async () => undefined } as Store,
    clock,
    log,
    startWork: () => Promise.reject(new Error("It only takes events.")),
  });
  const app = createApp(receiver, { webhookPath: "/webhooks", log });
  change(app);
  const { port, drain } = await serve(app, { ...bounds, port: 0, host: "127.0.0.1" });
  onTestFinished(async () => {
    await drain(0);
    await receiver.close();
  });
  return { url: `http://127.0.0.1:${String(port)}/webhooks`, stored, logLines };
}
