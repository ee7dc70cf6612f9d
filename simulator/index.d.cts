import type { RunningSimulator, StartOptions } from "./index.js" with { "resolution-mode": "import" };

export type * from "./index.js" with { "resolution-mode": "import" };
export declare function startSimulator(options?: StartOptions): Promise<RunningSimulator>;
