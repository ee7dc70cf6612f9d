import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

type Labels = Record<string, string>;
type Sample = { name: string; labels: Labels; value: number };
type Vector = Pick<Sample, "labels" | "value">[];
export type Scrape = Sample[];

const rulesSchema = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});

/** The rules that are shipped, by name. */
export function alertRules(): Map<string, string> {
  const { groups } = rulesSchema.parse(parse(readFileSync("deploy/alerts.yaml", "utf8")));
  return new Map(groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)));
}

/** The samples that Prometheus reads from the text of `/metrics`, plus the one that it adds itself. */
export function scrapeOf(text: string, isUp = true): Scrape {
  const samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)/gm)].map(
    ([, name = "", labels = "", value]) => ({
      name,
      labels: labelsOf(labels),
      value: value === "+Inf" ? Infinity : Number(value),
    }),
  );
  return [...samples, { name: "up", labels: { job: "voice-agent-receiver" }, value: Number(isUp) }];
}

/**
 * Names of the rules that fire after these scrapes; the last one is now, and all are within the window of each rule.
 * Implements the part of PromQL that the rules use. It treats a rate as an increase, since the rules only compare rates
 * with 0.
 */
export function firing(scrapes: readonly Scrape[]): string[] {
  return [...alertRules()].flatMap(([alert, expr]) => (holds(expr.trim(), scrapes) ? [alert] : []));
}

function holds(expr: string, scrapes: readonly Scrape[]): boolean {
  const [, left = "", operator, right = ""] = /^(.*?)\s+(==|>)\s+(.*)$/s.exec(expr) ?? [];
  if (operator === undefined) throw new Error(`No comparison: ${expr}`);
  const bound = /^[\d.]+$/.test(right) ? Number(right) : vectorOf(right, scrapes)[0]?.value;
  return vectorOf(left, scrapes).some(({ value }) =>
    bound === undefined ? false : operator === ">" ? value > bound : value === bound,
  );
}

function vectorOf(expr: string, scrapes: readonly Scrape[]): Vector {
  const [, name, by, inner = ""] = /^(\w+)(?: by \((\w+)\) )?\((.*)\)$/s.exec(expr) ?? [];
  if (name === undefined) return select(expr, scrapes.at(-1) ?? []);
  if (name === "absent") return vectorOf(inner, scrapes).length > 0 ? [] : [{ labels: {}, value: 1 }];
  if (name === "sum") return sum(vectorOf(inner, scrapes), by);
  if (name === "rate" || name === "increase") return increase(inner.replace(/\[\w+\]$/, ""), scrapes);
  const [, quantile, buckets = ""] = /^([\d.]+), (.*)$/s.exec(inner) ?? [];
  if (name !== "histogram_quantile") throw new Error(`Not known here: ${name}`);
  return histogramQuantile(Number(quantile), vectorOf(buckets, scrapes));
}

/** A series with a single scrape has no increase. */
function increase(selector: string, scrapes: readonly Scrape[]): Vector {
  const all = scrapes.map((scrape) => select(selector, scrape));
  return (all.at(-1) ?? []).flatMap(({ labels, value }) => {
    const same = all.flatMap((vector) => vector.filter((one) => keyOf(one.labels) === keyOf(labels)));
    return same.length < 2 ? [] : [{ labels, value: value - (same[0]?.value ?? 0) }];
  });
}

function sum(vector: Vector, by: string | undefined): Vector {
  const sums = new Map<string, number>();
  for (const { labels, value } of vector) {
    const key = by === undefined ? "" : (labels[by] ?? "");
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return [...sums].map(([key, value]) => ({ labels: by === undefined ? {} : { [by]: key }, value }));
}

/** The upper bound of the bucket: precise enough, since the rules compare it with a bucket's bound. */
function histogramQuantile(quantile: number, vector: Vector): Vector {
  const buckets = vector
    .map(({ labels, value }) => ({ le: labels["le"] === "+Inf" ? Infinity : Number(labels["le"]), value }))
    .toSorted((one, other) => one.le - other.le);
  const all = buckets.at(-1)?.value ?? 0;
  const found = buckets.find(({ value }) => value >= quantile * all);
  return all === 0 || !found ? [] : [{ labels: {}, value: found.le }];
}

function select(selector: string, scrape: Scrape): Vector {
  const [, name = "", matchers = ""] = /^(\w+)(?:\{(.*)\})?$/s.exec(selector) ?? [];
  if (name === "") throw new Error(`Not known here: ${selector}`);
  const wanted = [...matchers.matchAll(/(\w+)(=~?)"([^"]*)"/g)];
  return scrape.filter(
    (sample) =>
      sample.name === name &&
      wanted.every(([, label = "", operator, value = ""]) => {
        const actual = sample.labels[label] ?? "";
        return operator === "=" ? actual === value : new RegExp(`^(?:${value})$`).test(actual);
      }),
  );
}

function labelsOf(text: string): Labels {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).toSorted(([one], [other]) => one.localeCompare(other)));
}
