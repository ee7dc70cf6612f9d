// The receiver under test: it calls customers back, once for each voicemail. Replace it with yours.
const { createHmac, timingSafeEqual } = require("node:crypto");
const { once } = require("node:events");
const { createServer } = require("node:http");

exports.startReceiver = async function startReceiver({ secret, callBack }) {
  const seen = new Set();
  const server = createServer((request, response) => {
    receive(request).then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(500).end(),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  async function receive(request) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (!isGenuine(request.headers["x-service-signature"], body)) return 401;
    const event = JSON.parse(body.toString());
    if (!seen.has(event.id)) await callBack(event.data.object.phone);
    seen.add(event.id);
    return 200;
  }

  function isGenuine(header, body) {
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header ?? "") ?? [];
    if (v1 === undefined || Math.abs(Date.now() / 1000 - Number(t)) > 301) return false;
    const expected = createHmac("sha256", secret).update(`${t}.`).update(body).digest();
    return timingSafeEqual(Buffer.from(v1, "hex"), expected);
  }

  return {
    url: `http://127.0.0.1:${server.address().port}/webhooks`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
};
