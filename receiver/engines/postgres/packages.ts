import type pg from "pg";
import type * as pgBoss from "pg-boss";

/** The packages that only this engine needs. */
export type Packages = { pg: typeof pg; PgBoss: typeof pgBoss.PgBoss };

/** A package of this engine is not installed. The message says how to install it. */
export class PackageMissing extends Error {
  override readonly name = "PackageMissing";

  constructor(cause: unknown) {
    super(
      "DATABASE_URL names PostgreSQL, whose packages are not installed: npm install pg@8.23.1 pg-boss@12.30.0",
      { cause },
    );
  }
}

/** Loads what this engine needs, when it is needed: who keeps to SQLite installs none of it. */
export async function loadPackages(): Promise<Packages> {
  try {
    const [{ default: postgres }, { PgBoss }] = await Promise.all([import("pg"), import("pg-boss")]);
    return { pg: postgres, PgBoss };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") {
      throw new PackageMissing(error);
    }
    throw error;
  }
}
