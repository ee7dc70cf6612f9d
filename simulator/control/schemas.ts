import { z } from "zod";
import { parseFault, type Fault } from "../domain/faults.ts";
import { textSchema } from "../domain/selection.ts";

const LONGEST_NAME_CHARACTERS = 200;
const MOST_FAULTS = 100;

export const nameSchema = z.string().max(LONGEST_NAME_CHARACTERS);

/** Faults as text: `NAME`, or `NAME:N` for the first N attempts. */
export const faultsSchema = z
  .array(
    nameSchema.transform((text, context): Fault => {
      const parsed = parseFault(text);
      if (parsed.ok) return parsed.fault;
      context.addIssue({ code: "custom", message: parsed.message });
      return z.NEVER;
    }),
  )
  .max(MOST_FAULTS);

/** A page of a list: newest first, from below the item with the id `starting_after`. */
export const pageSchema = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(1_000),
  starting_after: z.string().optional(),
  q: textSchema,
});
