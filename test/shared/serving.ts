import type { RequestListener, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished } from "vitest";
import { serve } from "../../shared/server.ts";
import { readAnswer } from "../receiver/helpers/raw.ts";
import { until } from "../receiver/helpers/until.ts";

export const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
export const POST = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";

export function connection(port: number, allowHalfOpen = false): Socket {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

export async function gone(socket: Socket): Promise<void> {
  if (!socket.resume().closed) await new Promise((resolve) => socket.once("close", resolve));
}

export async function start(handle: RequestListener, options: Partial<Parameters<typeof serve>[1]> = {}) {
  const { port, drain } = await serve(handle, { host: "127.0.0.1", port: 0, ...options });
  onTestFinished(async () => drain(0));
  const ask = async (socket = connection(port), request = GET): Promise<Socket> => {
    socket.write(request);
    expect(await readAnswer(socket)).toMatchObject({ status: 200 });
    return socket.resume();
  };
  return { port, drain, ask };
}

export const here: RequestListener = (_request, response) => void response.end("[1]");

/** A server that answers only when the test does: `responses` has the open ones. */
export async function startWaiting(options: Partial<Parameters<typeof serve>[1]> = {}) {
  const responses: ServerResponse[] = [];
  const started = await start((_request, response) => void responses.push(response), options);
  const begin = async (bytes = GET, socket = connection(started.port)): Promise<Socket> => {
    const before = responses.length;
    socket.write(bytes);
    await until(() => responses.length > before);
    return socket;
  };
  return { ...started, responses, begin };
}
