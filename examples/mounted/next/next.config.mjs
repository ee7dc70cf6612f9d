export default {
  // It starts threads and a process from files of its own, which a bundle has not.
  serverExternalPackages: ["voice-agent-webhook-kit"],
};
