// What one run knows about itself. Plain records with fixed fields that no body can reach; `begin` sets every one of them, so that a run in a forked or
// rehearsed process starts exactly like the first.
import { park, receive, send } from './host.js';
import { errorText, plainError } from './errors.js';

export const limits = {
  __proto__: null,
  inFlight: 32,
  requests: 1024,
  argsBytes: 0,
  valueBytes: 0,
  consoleEntryBytes: 0,
  consoleFloodBytes: 0,
};

export const run = {
  __proto__: null,
  /** No new call and no new entry: the answer is being made, or was made. */
  closed: true,
  /** Entries that came after that. */
  lateEntries: 0,
  consoleBytes: 0,
  /** Requests that were sent and have no answer yet. */
  open: 0,
  /** Requests that wait for a place. */
  queued: 0,
  nextId: 1,
  answered: false,
};

export const resetState = () => {
  run.closed = false;
  run.lateEntries = 0;
  run.consoleBytes = 0;
  run.open = 0;
  run.queued = 0;
  run.nextId = 1;
  run.answered = false;
};

export const sendAnswer = (member) => {
  run.closed = true;
  run.answered = true;
  send(`{"jsonrpc":"2.0","id":1,${member}}`);
};

/**
 * Ends the run from inside the body's own code: no exception could, a body can catch it. The answers to open requests are waited for first, since the
 * answer of a run comes last on the wire; then the process only waits for its end.
 */
export const cutOff = (code, message) => {
  run.closed = true;
  while (run.open > 0 && receive() !== '') run.open--;
  if (!run.answered) sendAnswer(`"error":${errorText(plainError(code, 'LimitError', message), undefined, undefined)}`);
  park();
};
