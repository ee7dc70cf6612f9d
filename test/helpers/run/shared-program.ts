import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    /** Answers with the address of what all test files share: `/postgres`, `/browser`, `/mounted`. */
    sharedPrograms: string;
  }
}

/** The address of a program that all test files of a run share, which is started for the first who asks. */
export async function sharedProgram(name: "postgres" | "browser" | "mounted"): Promise<string> {
  const response = await fetch(`${inject("sharedPrograms")}/${name}`);
  const said = await response.text();
  if (!response.ok) throw new Error(`The ${name} of the tests did not start: ${said}`);
  return said;
}
