// With SEED, properties repeat the same cases, too.
if (process.env["SEED"] !== undefined) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed: Number(process.env["SEED"]) });
}
