import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Request, Response, Router } from "express";
import { z } from "zod";
import { readQuery } from "./answers.ts";

const MOST_PATHS = 20;
const READ_TOGETHER =
  /^\/(?:about|clock|clock\/ahead|counts|deliveries|endpoints|events|history|organizations)(?:\?|$)/;

const manySchema = z.strictObject({
  path: z.preprocess(
    (path) => [path].flat(),
    z.array(z.string().regex(READ_TOGETHER, "expected the path of a list")).min(1).max(MOST_PATHS),
  ),
});

/** Several GETs in one request, for the first load of a page: a status and a body for each `path`. */
export function manyRoutes(router: Router): void {
  router.get("/many", async (request, response) => {
    const { path: paths } = readQuery(manySchema, request);
    const data = await Promise.all(paths.map((path) => answerTo(path, request, response)));
    const text = JSON.stringify({ object: "list", data });
    response.set("Vary", "Accept-Encoding").type("json");
    if (request.acceptsEncodings("gzip") === "gzip")
      response.set("Content-Encoding", "gzip").send(await promisify(gzip)(text));
    else response.send(text);
  });

  function answerTo(path: string, request: Request, response: Response): Promise<object> {
    return new Promise((resolve, reject) => {
      let status = 200;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the request with another address, and its answer
      const [one, answer] = [Object.create(request), Object.create(response)] as [Request, Response];
      one.url = path;
      answer.status = (given) => {
        status = given;
        return answer;
      };
      answer.json = (body: unknown) => {
        resolve({ status, body });
        return answer;
      };
      router(one, answer, (error) =>
        reject(error instanceof Error ? error : new Error(`Nothing answers ${path}.`)),
      );
    });
  }
}
