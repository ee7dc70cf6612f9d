import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createReceiver, type ReceiverOptions } from "../../../receiver/index.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { newBody, SECRET, signatureFor } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** A new file for the inbox of an app. */
export const databaseUrl = (): string => `sqlite:${join(temporaryDirectory(), "receiver.db")}`;

/** A receiver in this process, which is stopped when the test is over. `send` resolves with the answer. */
export async function mount(options: ReceiverOptions = {}) {
  const silent = { LOG_LEVEL: "silent" };
  const common = { signingSecrets: [SECRET], databaseUrl: databaseUrl(), environment: silent };
  const receiver = await createReceiver({ ...common, ...options });
  onTestFinished(receiver.stop);
  const send = async (body = newBody()): Promise<Response> => {
    const headers = { [SIGNATURE_HEADER]: signatureFor(body) };
    return receiver.fetch(new Request("http://app.test/", { method: "POST", body, headers }));
  };
  return { receiver, send };
}
