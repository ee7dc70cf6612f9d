import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    /** A server that returns the address of each shared program: `/postgres`, `/browser`, `/mounted`. */
    sharedPrograms: string;
  }
}

/** The address of a program that all test files of a run share; the first request starts it. */
export async function sharedProgram(name: "postgres" | "browser" | "mounted"): Promise<string> {
  const response = await fetch(`${inject("sharedPrograms")}/${name}`);
  const said = await response.text();
  if (!response.ok) throw new Error(`The ${name} of the tests did not start: ${said}`);
  return said;
}
