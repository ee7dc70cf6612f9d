import { createHash, createHmac } from "node:crypto";
import { EVENT_TYPES } from "../../shared/events.ts";
import { sampleObjects, sampleOrganization } from "../../shared/samples.ts";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import type { Composed, DeliverOptions } from "../../simulator/verify/delivery.ts";
import type { WireConnection } from "../../simulator/verify/wire.ts";

const ID = /\b(evt|call|vm|order|booking)_([0-9a-fA-F]{16,32})\b/g;

/** A connection to nobody, which answers 200 and tells what was done with it. */
export function createSilentWire() {
  const pieces: Uint8Array[] = [];
  const done: string[] = [];
  const wire: WireConnection = {
    connected: true,
    write: async (piece) => void pieces.push(piece),
    halfClose: () => void done.push("half-closed"),
    reset: () => void done.push("reset"),
    close: () => undefined,
    answer: async () => ({
      kind: "answered",
      status: 200,
      headers: [],
      body: Buffer.alloc(0),
      complete: true,
    }),
    interim: async () => void done.push("asked for 100"),
  };
  return { wire, written: () => Buffer.concat(pieces), writes: () => pieces.length, done };
}

/** Says what is different about a delivery from one that the service sends; ids are numbered as they are first seen. */
export function createWords(secret: string, nowSeconds: number) {
  const seen: string[] = [];

  function numbered(id: string, kind: string, digits: string): string {
    if (!seen.includes(id)) seen.push(id);
    const number = seen.filter((other) => other.startsWith(kind)).indexOf(id) + 1;
    return `${/[A-F]/.test(digits) ? kind.toUpperCase() : kind}${number}`;
  }

  function signatureWords(value: string, body: Buffer): string {
    const t = /(?:^|,)t=([^,]*)/.exec(value)?.[1] ?? "";
    const v1 = createHmac("sha256", secret).update(`${t}.`).update(body).digest("hex");
    const words = value
      .replaceAll(v1, "V1")
      .replaceAll(/[0-9a-f]{64}/g, (digest) => hash(digest))
      .replaceAll(/\b\d{10}(?=\D|$|000)/g, (digits) => {
        const late = Number(digits) - nowSeconds;
        if (late === 0) return "T";
        return late > 0 ? `T+${late}` : `T${late}`;
      });
    return short(words);
  }

  function bodyWords(bytes: Buffer): string {
    const text = bytes.toString("latin1");
    const [, type = ""] = /"type":\s*"([a-z.]+)"/.exec(text) ?? [];
    const known = EVENT_TYPES.find((one) => one === type);
    const ids = text.replaceAll(ID, numbered);
    if (known === undefined) return `${short(ids)} ${hash(ids)}`;
    const usual = JSON.stringify({
      id: "evt",
      type,
      created: nowSeconds,
      api_version: "v1",
      data: { object: sampleObjects[known] },
      org_id: sampleOrganization.id,
    });
    const isUsual = text.replaceAll(ID, "$1") === usual.replaceAll(ID, "$1");
    const [event = ""] = /evt\d+/i.exec(ids) ?? [];
    return `${type} ${event}${isUsual ? "" : ` ${hash(ids)}`}`;
  }

  return function inWords({ body, request }: Composed, options: DeliverOptions): string {
    const name = options.signatureHeaderName ?? SIGNATURE_HEADER;
    const usual = new Set(["Host", "User-Agent", "Content-Length", "Connection", name]);
    const signatures = request.headers.flatMap(([own, value]) =>
      own === name ? [signatureWords(value, body)] : [],
    );
    const others = request.headers.filter(([own]) => !usual.has(own));
    const lines = short(others.map((header) => header.join(": ")).join(" + "));
    // How well zlib packs is its own affair.
    const isPacked = others.some(([own]) => own === "Content-Encoding");
    return [
      isPacked ? "packed" : bodyWords(body),
      ...(name === SIGNATURE_HEADER ? [] : [name]),
      ...(signatures.join() === "t=T,v1=V1" || isPacked ? [] : signatures.map((value) => `[${value}]`)),
      ...(signatures.length === 0 ? ["unsigned"] : []),
      ...(options.secret === undefined ? [] : [`by ${JSON.stringify(options.secret)}`]),
      ...(lines === "Content-Type: application/json" ? [] : [lines || "no type"]),
      ...(request.httpVersion === "1.1" ? [] : [`HTTP/${request.httpVersion}`]),
      ...(request.pieces === undefined ? [] : [`in ${request.pieces.cutAt.length + 1} pieces`]),
    ].join(" ");
  };
}

/** Bytes in a few words, unprintable ones by their numbers. */
export function short(text: string): string {
  const shown = text.replaceAll(/[^ -~]/g, (character) => `<${character.charCodeAt(0).toString(16)}>`);
  return shown.length > 120 ? `${shown.slice(0, 60)}…(${text.length}) ${hash(text)}` : shown;
}

function hash(text: string): string {
  return `#${createHash("sha256").update(text, "latin1").digest("hex").slice(0, 6)}`;
}
