import { timingSafeEqual } from "node:crypto";
import type { RequestHandler } from "express";
import { answerError } from "./answers.ts";

const CHANGES = new Set(["POST", "PATCH", "PUT", "DELETE"]);
const TOKEN_COOKIE = "simulator_token";

/** Refuses requests for another `Host`, so that a site that rebinds its name to this machine reaches nothing. */
export function hostGuard(isAllowedHost: (host: string) => boolean): RequestHandler {
  return (request, response, next) => {
    const host = request.headers.host?.toLowerCase() ?? "";
    if (isAllowedHost(host)) return next();
    answerError(
      response,
      "misdirected_request",
      `This simulator does not serve the host ${JSON.stringify(host)}.`,
    );
  };
}

/** Lets a change through only as JSON, and only from our own pages or from outside a browser. */
export function changeGuard(isAllowedHost: (host: string) => boolean): RequestHandler {
  return (request, response, next) => {
    if (!CHANGES.has(request.method)) return next();
    const { origin } = request.headers;
    const host = request.headers.host?.toLowerCase();
    const originHost = origin === undefined ? host : (URL.parse(origin)?.host ?? "");
    // The Host was checked, so a page from that origin is ours.
    if (originHost !== host && !isAllowedHost(originHost ?? ""))
      return answerError(
        response,
        "forbidden_origin",
        `Changes from ${JSON.stringify(origin)} are not accepted.`,
      );
    const hasBody =
      request.headers["content-length"] !== undefined && request.headers["content-length"] !== "0";
    const isChunked = request.headers["transfer-encoding"] !== undefined;
    const isDelete = request.method === "DELETE" && !hasBody && !isChunked;
    if (!isDelete && !/^application\/json(?:\s*;|$)/i.test(request.headers["content-type"] ?? ""))
      return answerError(
        response,
        "unsupported_media_type",
        "Send changes with Content-Type: application/json.",
      );
    next();
  };
}

/** Where the simulator is bound wider than loopback: a bearer token, or the cookie that the dashboard's link sets. */
export function tokenGuard(token: string): RequestHandler {
  return (request, response, next) => {
    const given = bearerOf(request.headers.authorization) ?? cookieOf(request.headers.cookie);
    if (given !== undefined && isSame(given, token)) return next();
    const fromLink = request.query["token"];
    if (request.method === "GET" && typeof fromLink === "string" && isSame(fromLink, token)) {
      response.cookie(TOKEN_COOKIE, token, { httpOnly: true, sameSite: "strict", path: "/" });
      return next();
    }
    answerError(
      response,
      "unauthorized",
      "This simulator is reachable from other machines and needs its token: send Authorization: Bearer TOKEN, or open the dashboard by the link that serve printed.",
    );
  };
}

function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer (\S+)$/i.exec(header ?? "")?.[1];
}

function isSame(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

/** The token in a Cookie header, as Express writes it: percent-encoded. */
function cookieOf(header = ""): string | undefined {
  const cookie = header.split("; ").find((pair) => pair.startsWith(`${TOKEN_COOKIE}=`));
  try {
    return cookie && decodeURIComponent(cookie.slice(TOKEN_COOKIE.length + 1));
  } catch {
    return undefined;
  }
}
