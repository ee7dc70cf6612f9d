import { expect, test } from "vitest";
import { FAULTS } from "../../../simulator/domain/faults.ts";
import { READINGS } from "../../../simulator/domain/readings.ts";
import { startService } from "../../helpers/service.ts";
import { answering } from "../../helpers/simulator.ts";
import { error } from "./answers.ts";

test("organizations come with their API keys", async () => {
  const { ask } = await startService();
  const { body } = await ask("GET", "/organizations");
  expect(body).toMatchObject({
    object: "list",
    data: [
      { object: "organization", industry: "restaurant", api_key: "va_test_restaurant" },
      { object: "organization", api_key: "va_test_services" },
    ],
  });
});

test("every reading is listed with its section, choice and reason, and can be changed", async () => {
  const { ask, simulator } = await startService();
  const { body } = await ask("GET", "/readings");
  expect(body.data?.map(({ name }) => name)).toEqual(Object.keys(READINGS));
  for (const reading of body.data ?? []) {
    expect(reading).toMatchObject({
      choice: reading["default"],
      section: expect.stringMatching(/^SPEC §/),
      reason: expect.stringMatching(/\.$/),
    });
  }
  expect(await ask("PATCH", "/readings", { retry_body: "reserialized" })).toMatchObject({ status: 200 });
  expect(simulator.readings()).toMatchObject({ retry_body: "reserialized", flag_counts: "attempts" });
  // A second change leaves the first as it is.
  await ask("PATCH", "/readings", { flag_counts: "deliveries" });
  expect(simulator.readings()).toMatchObject({ retry_body: "reserialized", flag_counts: "deliveries" });
  for (const wrong of [{ retry_body: "other" }, { no_such: "x" }, { retry_body: 1 }]) {
    expect(await ask("PATCH", "/readings", wrong)).toMatchObject({
      status: 400,
      body: error("invalid_request"),
    });
  }
});

test("traffic is shown and set to a rate, from none to 60,000 calls a minute", async () => {
  const { ask } = await startService();
  for (const [rate, status] of Object.entries({ 0: 200, 60_000: 200, 60_001: 400 })) {
    const per_minute = Number(rate);
    expect((await ask("PATCH", "/traffic", { per_minute })).status).toBe(status);
    const traffic = { object: "traffic", per_minute: Math.min(per_minute, 60_000) };
    expect((await ask("GET", "/traffic")).body).toEqual(traffic);
  }
});

test("every fault is listed", async () => {
  const { ask } = await startService();
  const { body } = await ask("GET", "/faults");
  expect(body.data?.map(({ name }) => name)).toEqual(Object.keys(FAULTS));
});

test("an unknown route is 404", async () => {
  const { ask } = await startService();
  for (const [method, path, body] of [
    ["GET", "/"],
    ["PUT", "/endpoints", {}],
    ["DELETE", "/endpoints"],
    ["POST", "/clock", {}],
  ] as const)
    expect(await ask(method, path, body)).toMatchObject({ status: 404, body: error("not_found") });
});

test("the API says what is observed, and the operator page of the kit's receiver", async () => {
  const { ask, simulator } = await startService({ send: answering(200) });
  const about = async () => (await ask("GET", "/about")).body;
  expect(await about()).toMatchObject({ is_observed: false, operator_page: null });
  const reading = () => Promise.resolve({ known: true as const, count: 1 });
  for (const [urlTemplate, page] of [
    ["http://127.0.0.1:3001/inbox/{id}", "http://127.0.0.1:3001/event?id={id}"],
    ["http://127.0.0.1:3001/handled/{id}", null],
  ] as const) {
    simulator.verdicts.observe(Object.assign(reading, { urlTemplate }));
    expect(await about()).toMatchObject({ is_observed: true, operator_page: page });
  }
});
