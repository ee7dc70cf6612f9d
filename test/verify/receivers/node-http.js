// A correct receiver in plain node:http. The counts are read back at /handled/{event id}.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const SECRET = process.env.SIGNING_SECRET;
const seen = new Map();

createServer(async (request, response) => {
  const answer = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (request.method === "GET" && request.url.startsWith("/handled/")) {
    return answer(200, { handled: seen.get(request.url.slice("/handled/".length)) ?? 0 });
  }
  if (request.method !== "POST") return answer(405, {});

  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return; // The client is gone.
  }
  const body = Buffer.concat(chunks);
  if (!verified(request.headersDistinct["x-service-signature"] ?? [], body)) return answer(401, {});
  const id = eventId(body);
  if (id === undefined) return answer(400, {});

  if (!seen.has(id)) {
    seen.set(id, 0);
    setImmediate(() => seen.set(id, seen.get(id) + 1));
  }
  answer(200, {});
}).listen(Number(process.env.PORT), "127.0.0.1");

function verified(headers, body) {
  if (headers.length !== 1) return false;
  const pairs = headers[0]
    .split(",")
    .map((pair) => [pair.split("=", 1)[0], pair.slice(pair.indexOf("=") + 1)]);
  const [t, ...more] = pairs.filter(([key]) => key === "t").map(([, value]) => value);
  if (t === undefined || more.length > 0 || !/^\d{1,15}$/.test(t)) return false;
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(t)) > 300) return false;
  const expected = createHmac("sha256", SECRET).update(`${t}.`).update(body).digest();
  return pairs.some(
    ([key, value]) =>
      key === "v1" && /^[0-9a-f]{64}$/.test(value) && timingSafeEqual(Buffer.from(value, "hex"), expected),
  );
}

function eventId(body) {
  try {
    const { id } = JSON.parse(body.toString("utf8"));
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}
