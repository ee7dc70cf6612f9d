import { expect, test } from "vitest";
import { alertRules, firing, scrapeOf, type Scrape } from "../helpers/alert-rules.ts";
import { get, newBody, post } from "../helpers/events.ts";
import { startTestReceiver } from "../helpers/receiver.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { proxyTo } from "./proxy.ts";

test("a PostgreSQL that is away pages whoever is on call, and the alert ends with it", async () => {
  const { url } = await postgresBackend();
  const proxy = await proxyTo(url);
  const receiver = await startTestReceiver({ environment: { DATABASE_URL: proxy.url } });
  const scrape = async (): Promise<Scrape> =>
    scrapeOf(await (await get(`${receiver.adminUrl}/metrics`)).text());
  const delivered = async (status: number): Promise<void> => {
    await until(
      async () => (await post(receiver.url, newBody())).status,
      (answered) => answered === status,
    );
  };
  await delivered(200);
  const before = await scrape();
  await delivered(200);
  expect(firing([before, await scrape()])).toEqual([]);
  proxy.setAway(true);
  await delivered(503);
  const first = await scrape();
  await delivered(503);
  const second = await scrape();
  expect(firing([before, first, second])).toEqual(["ReceiverRefusesEvents", "ReceiverDatabaseAway"]);
  // Also where nothing comes any more, since a load balancer knows that it is not ready.
  expect(firing([second, await scrape()])).toEqual(["ReceiverDatabaseAway"]);
  proxy.setAway(false);
  await delivered(200);
  const third = await scrape();
  await delivered(200);
  expect(firing([third, await scrape()])).toEqual([]);
});

/** What every scrape has while the inbox can be read. */
const OLDEST = "receiver_oldest_unfinished_event_age_seconds";
const READABLE = `${OLDEST} 0\n`;

/** Of each rule, what two scrapes say, one after the other, for which it holds. */
const EACH: Record<string, [string, string]> = {
  ReceiverDown: [READABLE, READABLE],
  ReceiverDatabaseAway: [READABLE, ""],
  ReceiverRefusesEvents: counted('receiver_rejections_total{reason="outcome_unknown",class="unavailable"}'),
  ReceiverSignaturesFail: [
    `${READABLE}receiver_rejections_total{reason="no_match",class="refused"} 1\nreceiver_events_total{type="other",result="duplicate"} 4`,
    `${READABLE}receiver_rejections_total{reason="no_match",class="refused"} 3\nreceiver_events_total{type="other",result="duplicate"} 5`,
  ],
  ReceiverAcknowledgesSlowly: [
    histogram('le="2.5",result="stored"', 0, 0),
    histogram('le="2.5",result="stored"', 90, 100),
  ],
  ReceiverBacklog: [`${OLDEST} 3600`, `${OLDEST} 3601`],
  ReceiverDeadEvents: counted('receiver_handling_seconds_count{handler="orders",outcome="dead"}'),
  ReceiverWorkerDown: [`${READABLE}receiver_worker_up 1`, `${READABLE}receiver_worker_up 0`],
  ReceiverWorkerRestarts: [
    `${READABLE}receiver_worker_restarts_total 0`,
    `${READABLE}receiver_worker_restarts_total 3`,
  ],
  ReceiverUnknownEvents: counted('receiver_events_total{type="other",result="stored"}'),
};

test.for(Object.entries(EACH))(
  "%s fires when it is true, and is silent when it was",
  ([alert, [then, now]]) => {
    const isUp = alert !== "ReceiverDown";
    expect(firing([scrapeOf(then), scrapeOf(now, isUp)])).toEqual([alert]);
    expect(firing([scrapeOf(then), scrapeOf(then)])).toEqual([]);
  },
);

test("each rule that is shipped was asked", () => {
  expect(Object.keys(EACH).toSorted()).toEqual([...alertRules().keys()].toSorted());
});

function counted(series: string): [string, string] {
  return [`${READABLE}${series} 1`, `${READABLE}${series} 2`];
}

function histogram(labels: string, within: number, all: number): string {
  const bucket = "receiver_acknowledgement_seconds_bucket";
  return `${READABLE}${bucket}{${labels}} ${String(within)}\n${bucket}{le="+Inf",result="stored"} ${String(all)}`;
}
