// With a SEED, properties too are tried with the same cases again.
if (process.env["SEED"] !== undefined) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed: Number(process.env["SEED"]) });
}
