const UNIT_SECONDS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** `90`, `90s`, `5m`, `12h`, `1h30m` or `1d` in seconds; undefined when it is none of these. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
    .map(([, amount, unit]) => Number(amount) * (UNIT_SECONDS[unit ?? "s"] ?? 1))
    .reduce((total, part) => total + part, 0);
}
