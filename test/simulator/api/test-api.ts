import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import express from "express";
import { createRecordings } from "../../../simulator/api/recordings.ts";
import { createApi } from "../../../simulator/api/router.ts";
import { listen } from "../../helpers/listen.ts";
import { createTestWorld } from "../world/test-world.ts";

type WorldOptions = Parameters<typeof createTestWorld>[0];

/** The fields of an answer; a test that reads `data` expects a list. */
export type Body = {
  [field: string]: unknown;
  data: { [field: string]: unknown; id: string }[];
  has_more?: boolean;
  message?: string;
};

/** The REST API on a real socket, closed when the test is over. `get` returns status, headers and JSON. */
export async function startApi(
  options: WorldOptions & {
    onError?: (error: unknown) => void;
    /** Middleware in front of the API. */
    before?: express.RequestHandler;
  } = {},
) {
  const created = createTestWorld(options);
  const { world, readings } = created;
  const app = express();
  app.disable("x-powered-by");
  if (options.before) app.use(options.before);
  app.use("/api/v1", createApi({ world, readings: () => readings, onError: options.onError ?? (() => {}) }));
  app.use("/recordings", createRecordings({ world }));
  const { port } = await listen(createServer(app));

  async function get(
    path: string,
    init: { key?: string | null; method?: string; headers?: Record<string, string> } = {},
  ) {
    const { key = "va_test_restaurant", method = "GET" } = init;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...init.headers },
    });
    const text = await response.text();
    const isJson =
      response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
    const body = (isJson ? JSON.parse(text) : {}) as Body;
    return { status: response.status, headers: response.headers, text, body };
  }

  /** Sends header lines that fetch would refuse. */
  async function raw(path: string, headers: readonly string[]) {
    const sent = request({ host: "127.0.0.1", port, path, headers, setDefaultHeaders: false });
    const answered = new Promise<IncomingMessage>((resolve, reject) =>
      sent.on("response", resolve).on("error", reject),
    );
    sent.end();
    const response = await answered;
    response.resume();
    await once(response, "end");
    return { status: response.statusCode };
  }

  return { ...created, port, get, raw };
}
