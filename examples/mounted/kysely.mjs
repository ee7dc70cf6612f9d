import { Kysely, PostgresDialect } from "kysely";

/** Kysely on `db.client` of `atomically`, which begins and ends the transaction. */
export function kyselyOn(client) {
  const pool = { connect: async () => client, end: async () => undefined };
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}
