// Host JavaScript that V8 or Node's C++ would call while a body runs. Each hook is given a function of the guest realm: then whatever a body can make
// of the call - an error at the stack limit, an argument with a trap, a thrown value - is made of its own realm's objects.

export const installHooks = (take, guest) => {
  const { errors, taskQueue, moduleWrap } = take.hooks;

  // `error.stack`, Error.captureStackTrace
  errors.setPrepareStackTraceCallback(guest.formatter);
  // Asked when code is generated from strings and source maps are on; never here, but it is a way into the host.
  errors.setMaybeCacheGeneratedSourceMap(guest.nothing);
  errors.setGetSourceMapErrorSource(guest.nothing);
  errors.setEnhanceStackForFatalException(guest.nothing, guest.nothing);

  // A promise rejected without a handler, or given one later.
  taskQueue.setPromiseRejectCallback(guest.onReject);
  // Runs when Node leaves a callback scope; the bridge never does.
  taskQueue.setTickCallback(guest.nothing);

  // import(), import.meta
  moduleWrap.setImportModuleDynamicallyCallback(guest.onImport);
  moduleWrap.setInitializeImportMetaObjectCallback(guest.nothing);

  // An exception that leaves a micro-task: C++ looks `_fatalException` up on the process object each time.
  take.process._fatalException = guest.onUncaught;
};
