import { expect, test } from "vitest";
import { observeAddress } from "../../tools/start/observe-address.ts";

test.each([
  [{}, "http://127.0.0.1:3001/inbox/{id}"],
  [{ ADMIN_PORT: "" }, "http://127.0.0.1:3001/inbox/{id}"],
  [{ ADMIN_PORT: "3777" }, "http://127.0.0.1:3777/inbox/{id}"],
  [{ ADMIN_PORT: "0" }, undefined],
  [{ ADMIN_HOST: "0.0.0.0" }, "http://127.0.0.1:3001/inbox/{id}"],
  [{ ADMIN_HOST: "::1", ADMIN_PORT: "9" }, "http://[::1]:9/inbox/{id}"],
  [{ ADMIN_HOST: "inner" }, "http://inner:3001/inbox/{id}"],
])("npm start observes the receiver whose settings are %j at %s", (environment, address) => {
  expect(observeAddress(environment)).toBe(address);
});
