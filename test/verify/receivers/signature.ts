import { createHmac, timingSafeEqual } from "node:crypto";

/** The five verification rules of the service, written from its documentation alone. */
export function verified(headers: readonly string[], body: Buffer, secret: string): boolean {
  const [header, ...others] = headers;
  if (header === undefined || others.length > 0) return false;
  const values: Record<string, string[]> = { t: [], v1: [] };
  for (const pair of header.split(",")) {
    const at = pair.indexOf("=");
    values[pair.slice(0, at)]?.push(pair.slice(at + 1));
  }
  const [t, ...more] = values.t ?? [];
  if (t === undefined || more.length > 0 || !/^\d{1,15}$/.test(t)) return false;
  if (Math.abs(Math.floor(Date.now() / 1_000) - Number(t)) > 300) return false;
  const expected = createHmac("sha256", secret).update(`${t}.`).update(body).digest();
  return (values.v1 ?? []).some(
    (v1) => /^[0-9a-f]{64}$/.test(v1) && timingSafeEqual(Buffer.from(v1, "hex"), expected),
  );
}

/** The id of the event in a body, or undefined when it holds none. */
export function eventId(body: Buffer): string | undefined {
  try {
    const event: unknown = JSON.parse(body.toString("utf8"));
    if (typeof event !== "object" || event === null || !("id" in event)) return undefined;
    return typeof event.id === "string" ? event.id : undefined;
  } catch {
    return undefined;
  }
}
