import { systemClock } from "../../../receiver/clock.ts";
import { openPostgresEngine } from "../../../receiver/engines/postgres/index.ts";

/** Brings the ids that it is told of, in an order of its own, and answers how many of them were new. */
const [url = "", turn = "0", ...ids] = process.argv.slice(2);
const engine = await openPostgresEngine({ databaseUrl: url, clock: systemClock });
const from = (Number(turn) * 7) % ids.length;
const events = [...ids.slice(from), ...ids.slice(0, from)].map((id) => {
  const source = "webhook" as const;
  return { id, type: "call.completed", objectId: id, source, body: Buffer.from(id), trace: null };
});
await new Promise<void>((resolve) => {
  process.once("message", () => resolve());
  process.send?.("ready");
});
let fresh = 0;
for (let at = 0; at < events.length; at += 10) {
  const result = await engine.intake.accept(events.slice(at, at + 10));
  if (!result.ok) throw new Error(result.detail);
  fresh += result.acceptances.filter(({ duplicate }) => !duplicate).length;
}
process.send?.(fresh);
await engine.close();
process.disconnect();
