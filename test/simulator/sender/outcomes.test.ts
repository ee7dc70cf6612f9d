import { expect, test } from "vitest";
import { classifyError, classifyStatus } from "../../../simulator/sender/outcome.ts";

/** One word for each kind of failed request. */
const WORDS: Record<string, string> = {
  dns: "ENOTFOUND ERR_FORBIDDEN_ADDRESS EAI_AGAIN EAI_FAIL EDNSSERVFAIL",
  refused: "ECONNREFUSED EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN EADDRNOTAVAIL EACCES EPERM",
  reset: "ECONNRESET ECONNABORTED EPIPE",
  timeout: "ETIMEDOUT",
  tls:
    "EPROTO ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER CERT_HAS_EXPIRED HOSTNAME_MISMATCH INVALID_CA " +
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN INVALID_PURPOSE PATH_LENGTH_EXCEEDED",
  protocol: "HPE_INVALID_CONSTANT X_CERT_HAS_EXPIRED NOT_EAI_AGAIN EWHATEVER",
};

const rows = Object.entries(WORDS).flatMap(([word, codes]) =>
  codes.split(" ").map((code) => ({ code, word })),
);

test.each(rows)(
  "$code is $word, also as the cause of another error or the first of several",
  ({ code, word }) => {
    const error = Object.assign(new Error("it failed"), { code });
    const isUnknownAuthority = /^(?:UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/.test(code);
    const hint = isUnknownAuthority ? " (for an authority of your own, set NODE_EXTRA_CA_CERTS)" : "";
    const expected = { error: word, detail: `${code}: it failed${hint}` };
    expect(classifyError(error)).toEqual(expected);
    expect(classifyError(new Error("outer", { cause: error }))).toEqual(expected);
    expect(classifyError(new AggregateError([error, new Error("second")]))).toEqual(expected);
  },
);

const DISCONNECTED = "Client network socket disconnected before secure TLS connection was established";
const IN_HANDSHAKE = Object.assign(new Error(DISCONNECTED), { code: "ECONNRESET" });

test.each([
  [new Error("it failed"), { error: "protocol", detail: "it failed" }],
  ["a text", { error: "protocol", detail: "a text" }],
  [IN_HANDSHAKE, { error: "tls", detail: expect.stringContaining("ECONNRESET") }],
])("an error without a code is recognized by its message: %o", (error, expected) => {
  expect(classifyError(error)).toEqual(expected);
});

test.each([200, 204, 299, 300, 404, 500, 599, 999])("%i is a final status", (status) => {
  expect(classifyStatus(status)).toEqual({ status });
});

test.each([0, 99, 100, 199])("%i is not an outcome", (status) => {
  expect(classifyStatus(status)).toEqual({ error: "protocol", detail: `${status} is not a final status` });
});
