// Rejections nobody handles. V8 tells the isolate's promise reject hook, which Node fills with host JavaScript; this takes its place. An entry goes again
// when a handler is added later, so what is left when the run is quiet was never handled.
import { MapCtor, mapDelete, mapForEach, mapSet } from './primordials.js';

const REJECTED_WITHOUT_HANDLER = 0;
const HANDLER_ADDED = 1;

let open = new MapCtor();

export const onReject = (event, promise, reason) => {
  if (event === REJECTED_WITHOUT_HANDLER) mapSet(open, promise, { __proto__: null, reason });
  else if (event === HANDLER_ADDED) mapDelete(open, promise);
};

/** An exception that left a micro-task with no promise to reject, e.g. thrown by a resolve function of a body's own promise class. */
export const onUncaught = (error) => {
  mapSet(open, {}, { __proto__: null, reason: error });
  return true;
};

export const forgetRejections = () => {
  open = new MapCtor();
};

/** The first of them as `{reason}`, or null. */
export const firstUnhandled = () => {
  let first = null;
  mapForEach(open, (entry) => {
    first ??= entry;
  });
  return first;
};
