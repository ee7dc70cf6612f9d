import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { NewEvent } from "../../../receiver/store/port.ts";
import { newEventId } from "../helpers/events.ts";
import { event } from "../store-suite/harness.ts";

/** An event that both handlers of the race want. */
export function orderOf(phone: string, place: number): NewEvent {
  const [id, type] = [newEventId(), "order.created"];
  const data = { object: { phone, place } };
  const envelope = { id, type, created: 1_767_225_600, api_version: "v1", org_id: "org_1", data };
  return event({ id, type, envelope });
}

/** A worker in a process of its own, which writes a row for each event that it handles. */
export function startRacingWorker(url: string): ChildProcess {
  const program = fileURLToPath(new URL("./racing-worker.ts", import.meta.url));
  const child = spawn(process.execPath, [program, url], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
