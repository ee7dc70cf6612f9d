/** The packages that only this engine needs. */
export type Packages = Awaited<ReturnType<typeof loadPackages>>;

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
export async function loadPackages() {
  try {
    const [{ default: pg }, { PgBoss }] = await Promise.all([import("pg"), import("pg-boss")]);
    return { pg, PgBoss };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") {
      throw new PackageMissing(error);
    }
    throw error;
  }
}
