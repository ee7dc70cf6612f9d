import { expect, test } from "vitest";
import { callTransferred } from "../../../receiver/handlers/call-transferred.ts";
import { sampleEnvelope, sampleTransferredCall } from "../../../shared/samples.ts";
import { bench } from "../helpers/bench.ts";

test.for([
  ["+12125550101", true, '"+12125550101"', "true"],
  [{ name: "front desk" }, "yes", '{"name":"front desk"}', '"yes"'],
  [null, undefined, "null", "null"],
])(
  "a transfer to %j with success %j is stored as it came",
  async ([to, succeeded, storedTo, storedSucceeded]) => {
    const { run, rows } = await bench(callTransferred);
    const object = { ...sampleTransferredCall, transfer_to: to, transfer_succeeded: succeeded };
    const event = sampleEnvelope("call.transferred", { data: { object } });
    await run(event);
    expect(await rows("SELECT * FROM transfers")).toEqual([
      { event_id: event.id, call_id: object.id, transfer_to: storedTo, transfer_succeeded: storedSucceeded },
    ]);
  },
);
