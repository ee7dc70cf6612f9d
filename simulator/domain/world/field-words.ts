/** Fields of events in words; a field that is missing or has another form is left out. */

const MOMENT = new Intl.DateTimeFormat("en-US", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
});

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

export function outcomeWords(outcome: unknown): string | undefined {
  return outcome === "voicemail" ? "left a voicemail" : textOf(outcome);
}

export function transferWords(succeeded: unknown): string {
  return succeeded === false || succeeded === "failed" ? "not put through to" : "put through to";
}

/** `3 min 5 s` of seconds. */
export function spokenTime(seconds: unknown): string | undefined {
  if (typeof seconds !== "number" || !(seconds >= 0)) return undefined;
  const rest = `${Math.floor(seconds % 60)} s`;
  return seconds < 60 ? rest : `${Math.floor(seconds / 60)} min ${rest}`;
}

/** ` 2 Margherita, Tiramisù`, with a space before it; empty where nothing has a name. */
export function itemNames(items: unknown): string {
  if (!Array.isArray(items)) return "";
  const names = items.flatMap((item: unknown) => {
    const { quantity, name } = fieldsOf(item);
    if (textOf(name) === undefined) return [];
    return [`${typeof quantity === "number" ? `${quantity} ` : ""}${textOf(name)}`];
  });
  return names.length === 0 ? "" : ` ${names.join(", ")}`;
}

export function price({ total, currency }: Readonly<Record<string, unknown>>): string | undefined {
  const amount = textOf(total);
  return amount === undefined ? undefined : [amount, textOf(currency)].filter(Boolean).join(" ");
}

/** `Jan 14, 17:30 UTC` of an ISO 8601 time. */
export function isoMoment(iso: unknown): string | undefined {
  const ms = typeof iso === "string" ? Date.parse(iso) : Number.NaN;
  return Number.isNaN(ms) ? undefined : `${MOMENT.format(ms)} UTC`;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
