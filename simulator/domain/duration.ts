const UNIT_SECONDS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** Examples of durations, for error messages. */
export const DURATIONS = "90s, 90m, 1h or 1h30m";

/** `90s`, `5m`, `12h`, `1h30m`, `1d` or `0` in seconds; undefined for other text: a bare number has no unit. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
    .map(([, amount, unit]) => Number(amount) * (UNIT_SECONDS[unit ?? "s"] ?? 1))
    .reduce((total, part) => total + part, 0);
}
