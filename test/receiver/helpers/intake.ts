import { onTestFinished } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import type { Intake, NewEvent } from "../../../receiver/store/port.ts";
import { createApp } from "../../../receiver/app.ts";
import { createMiddleware } from "../../../receiver/intake/adapters.ts";
import { createBodyReader } from "../../../receiver/intake/body.ts";
import { createGroupCommit } from "../../../receiver/intake/group-commit.ts";
import { createInbox } from "../../../receiver/intake/inbox.ts";
import { createWebhook } from "../../../receiver/intake/webhook.ts";
import { createHealth, type Health } from "../../../receiver/operations/health.ts";
import { createLog, createRequestLog } from "../../../receiver/operations/log.ts";
import { createMetrics, type Metrics } from "../../../receiver/operations/metrics.ts";
import { serve, type Served } from "../../../shared/server.ts";
import { SECRET } from "./events.ts";

export type TestIntake = {
  url: string;
  /** What was stored, in order. */
  stored: NewEvent[];
  health: Health;
  metrics: Metrics;
  logLines: string[];
  server: Served;
};

/** The way in without a database behind it: everything up to the port, over real HTTP. `accept` may be another's. */
export async function startIntake(
  options: {
    accept?: Intake["accept"];
    clock?: Clock;
    maxBodyBytes?: number;
    maximumArrivingBytes?: number;
  } & Omit<Parameters<typeof serve>[1], "port" | "host"> = {},
): Promise<TestIntake> {
  const clock = options.clock ?? systemClock;
  const stored: NewEvent[] = [];
  const accept: Intake["accept"] = async (batch) => {
    stored.push(...batch);
    return { ok: true, acceptances: batch.map(() => ({ duplicate: false })) };
  };
  const logLines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => void logLines.push(line) } });
  const health = createHealth({
    probe: async () => ({ ok: true }),
    clock,
    role: "ingest",
    freeBytes: async () => Number.POSITIVE_INFINITY,
    minimumFreeBytes: 0,
  });
  const metrics = createMetrics({ counts: async () => undefined, clock });
  const inbox = createInbox({
    secrets: [SECRET],
    clock,
    store: createGroupCommit({ accept: options.accept ?? accept, clock }),
  });
  const limits = {
    maxBodyBytes: options.maxBodyBytes ?? 1_048_576,
    maximumArrivingBytes: options.maximumArrivingBytes,
  };
  const logRequest = createRequestLog({ log, clock, clean: (text) => text });
  const webhook = createWebhook({ ...limits, inbox, health, log, logRequest, metrics, clock });
  const middleware = createMiddleware(webhook, createBodyReader({ ...limits, clock }), health.draining);
  const {
    accept: _accept,
    clock: _clock,
    maxBodyBytes: _most,
    maximumArrivingBytes: _all,
    ...bounds
  } = options;
  const app = createApp({ middleware, health, logRequest }, { webhookPath: "/webhooks", log });
  const server = await serve(app, { ...bounds, port: 0, host: "127.0.0.1" });
  const { port } = server;
  onTestFinished(async () => {
    await server.drain(0);
    health.stop();
  });
  return { url: `http://127.0.0.1:${String(port)}/webhooks`, stored, health, metrics, logLines, server };
}

/**
 * A clock whose timers go off by hand; what is measured with it moves by hand as well. A pass of much time is what a
 * process sees that the machine kept waiting: whatever was due comes at once, and nothing in between.
 */
export function handClock(): Clock & { pass: (ms: number) => void; sleepers: () => number } {
  let timers: { atMs: number; run: () => void }[] = [];
  let monotonicMs = 0;
  let sleepers = 0;
  const after: Clock["after"] = (ms, run) => {
    const timer = { atMs: monotonicMs + ms, run };
    timers.push(timer);
    return () => void (timers = timers.filter((other) => other !== timer));
  };
  return {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => monotonicMs,
    sleepers: () => sleepers,
    sleep: async (ms, signal) => {
      sleepers += 1;
      return new Promise((resolve) => {
        const wake = (): void => {
          cancel();
          signal?.removeEventListener("abort", wake);
          sleepers -= 1;
          resolve();
        };
        const cancel = after(ms, wake);
        signal?.addEventListener("abort", wake);
      });
    },
    after,
    pass: (ms) => {
      monotonicMs += ms;
      for (const timer of timers.filter(({ atMs }) => atMs <= monotonicMs)) {
        timers = timers.filter((other) => other !== timer);
        timer.run();
      }
    },
  };
}
