import { describe, expect, test } from "vitest";
import { causeOf, type Meaning } from "../../../simulator/domain/causes.ts";
import type { Outcome } from "../../../simulator/domain/outcome.ts";

describe("the cause of a failed attempt", () => {
  test.each<[Outcome, Meaning, string | undefined]>([
    [{ status: 204 }, "genuine", undefined],
    [{ status: 200 }, "duplicate", undefined],
    [{ status: 308 }, "genuine", "redirected"],
    [{ status: 401 }, "genuine", "signature_refused"],
    [{ status: 404 }, "duplicate", "duplicate_refused"],
    [{ status: 409 }, "duplicate", "duplicate_refused"],
    [{ status: 422 }, "genuine", "refused"],
    [{ status: 422 }, "unfamiliar", "unfamiliar_refused"],
    [{ status: 422 }, "duplicate", "duplicate_refused"],
    [{ status: 429 }, "duplicate", "rate_limited"],
    [{ status: 500 }, "duplicate", "server_error"],
    [{ status: 504 }, "genuine", "gateway_error"],
    [{ status: 999 }, "genuine", "server_error"],
    [{ status: 401 }, "forged", undefined],
    [{ status: 202 }, "forged", "forgery_accepted"],
    [{ status: 500 }, "forged", "forgery_not_refused"],
    [{ error: "timeout" }, "forged", "timed_out"],
  ])("%o of a %s delivery", (ending, meaning, cause) => {
    expect(causeOf(ending, meaning)).toBe(cause);
  });

  test("every status of a genuine delivery is taken, or has a cause with a fix", () => {
    const statuses = Array.from({ length: 800 }, (_, n) => 200 + n);
    const uncaused = statuses.filter((status) => causeOf({ status }) === undefined);
    expect(uncaused).toEqual(statuses.filter((status) => status < 300));
  });
});
