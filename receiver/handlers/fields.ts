import { z } from "zod";

/**
 * Fields that a handler would like to have but can live without: null when absent or of another kind. The service may
 * add fields and leave values out; a handler that asks for as little as possible keeps working.
 */
export const textOrNull = z.string().nullable().catch(null);
export const wholeNumberOrNull = z.int().nullable().catch(null);
