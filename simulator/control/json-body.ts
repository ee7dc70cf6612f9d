import express, { type RequestHandler } from "express";
import { jsonShapeProblem } from "../json-shape.ts";

/** Reads JSON bodies of at most `limitBytes`; one that is nested too deeply, or has too many values, is not parsed at all. */
export function jsonBody(limitBytes: number): RequestHandler {
  return express.json({
    limit: limitBytes,
    verify(_request, _response, bytes) {
      const problem = jsonShapeProblem(bytes);
      if (problem !== undefined) throw new Error(problem);
    },
  });
}
