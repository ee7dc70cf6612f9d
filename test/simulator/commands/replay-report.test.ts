import { expect, test } from "vitest";
import { createOutput } from "../../../simulator/commands/output.ts";
import { createReplayReport } from "../../../simulator/commands/replay-report.ts";
import { ATTEMPT_ERRORS } from "../../../simulator/domain/outcome.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { envelopes, replayTo, writeJsonLines } from "./replay-files.ts";

test("unacknowledged events are reported, and exit 1", async () => {
  const receiver = await startEndpoint((response, count) =>
    response.writeHead(count === 2 ? 500 : 200).end(),
  );
  const file = writeJsonLines(3);
  const { code, json } = await replayTo(receiver.url, file, "--json");
  expect(code).toBe(1);
  const failures = [{ event_id: envelopes(2)[1]?.id, outcome: 500 }];
  const figures = { total: 3, done: 3, sent: 3, acknowledged: 2, failed: 1, outcomes: { 200: 2, 500: 1 } };
  expect(json()).toEqual({ object: "replay", target: receiver.url, ...figures, failures });
  receiver.behave(401);
  expect((await replayTo(receiver.url, file)).out).toContain("3 not acknowledged: 3 × 401.");
});

test.each([1, 10, 11, 25])(
  "of %i that failed the first ten are named, and the others counted",
  async (count) => {
    const receiver = await startEndpoint(500);
    const file = writeJsonLines(count);
    const { code, out } = await replayTo(receiver.url, file);
    const ids = envelopes(count).map(({ id }) => id);
    expect({ code, lines: out.trimEnd().split("\n") }).toEqual({
      code: 1,
      lines: [
        ...ids.slice(0, 10).map((id) => `[500] ${id}`),
        ...(count > 10 ? [`… and ${count - 10} more`] : []),
        `${count} sent to ${receiver.url}, ${count} not acknowledged: ${count} × 500.`,
      ],
    });
    const failures = ids.slice(0, 10).map((id) => ({ event_id: id, outcome: 500 }));
    expect((await replayTo(receiver.url, file, "--json")).json()).toMatchObject({ failed: count, failures });
  },
);

test.each(ATTEMPT_ERRORS)("whether it continues after %s", (outcome) => {
  const before = { done: 0, sent: 0, acknowledged: 0, outcomes: {}, failures: [] };
  const report = createReplayReport({ total: 3, before, output: createOutput({ json: true }) });
  const later = { eventId: "evt_2", outcome: 200 };
  report.add([{ eventId: "evt_1", outcome }, later]);
  const isHopeless = outcome === "dns" || outcome === "refused";
  const isCut = isHopeless || outcome === "interrupted";
  const counted = [report.isHopeless(), report.done(), report.failed()];
  expect(counted).toEqual([isHopeless, isCut ? 0 : 2, isCut ? 0 : 1]);
});
