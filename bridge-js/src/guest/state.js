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
  /** The error of a run that was cut off, until it is sent. */
  verdict: null,
};

const NO_ROOM = plainError('memory_limit', 'LimitError', 'there was no memory left to send the answer');

export const resetState = () => {
  run.closed = false;
  run.lateEntries = 0;
  run.consoleBytes = 0;
  run.open = 0;
  run.queued = 0;
  run.nextId = 1;
  run.answered = false;
  run.verdict = null;
};

export const sendAnswer = (member) => {
  run.closed = true;
  if (send(`{"jsonrpc":"2.0","id":1,${member}}`)) {
    run.answered = true;
    return;
  }
  // A long answer needs memory of its own; a short one has its place since boot.
  send(`{"jsonrpc":"2.0","id":1,"error":${errorText(NO_ROOM, undefined, undefined)}}`);
  run.answered = true;
};

/**
 * Ends the run from inside the body's own code: no exception could, a body can catch it. The answers to open requests are waited for first, since the
 * answer of a run comes last on the wire; then the process only waits for its end.
 */
export const cutOff = (code, message) => {
  run.closed = true;
  // Should the rest overflow the stack, the run ends with this when it unwinds.
  run.verdict = plainError(code, 'LimitError', message);
  while (run.open > 0 && receive() !== '') run.open--;
  if (!run.answered) sendAnswer(`"error":${errorText(run.verdict, undefined, undefined)}`);
  park();
};
