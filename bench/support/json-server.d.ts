/** The parts of json-server that we use; it has no types. */
declare module "json-server" {
  import type { RequestListener } from "node:http";

  const jsonServer: {
    create: () => RequestListener & { use: (handler: RequestListener) => void };
    /** Serves each list of `data` under its name. */
    router: (data: Record<string, readonly unknown[]>) => RequestListener;
  };
  export default jsonServer;
}
