// What can go wrong at this end. Whatever becomes of a body is a report and no error.

/** Every error of this client; `code` is a word. */
export class CodemodeError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Characters of a server's text in a message. */
const MOST_TEXT = 1_000;

/** A server's text as one line without signs that a terminal obeys or that turn the direction of what follows. */
export const oneLine = (text) => text.slice(0, MOST_TEXT).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').toWellFormed();

/** The server did not take the run: nothing of it has happened. `code` is the server's word, such as `busy`. */
export class RunRefusedError extends CodemodeError {}

/** The other end broke the wire; the connection is closed. */
export class ProtocolError extends CodemodeError {
  constructor(message) {
    super('protocol_violation', message);
  }
}

/**
 * The connection ended before the report came. `calls` are the calls of the run as far as this end knows: `unknown` has begun here and not ended, `ok` and `error` have
 * ended here, `cancelled` has not begun here and never will.
 */
export class ConnectionLostError extends CodemodeError {
  constructor(goodbye, cause) {
    super('connection_lost', goodbye ? `the server let this connection go: ${goodbye.code}: ${goodbye.message}` : 'the connection to the server is over', { cause });
    this.goodbye = goodbye ?? null;
    this.calls = [];
  }
}
