// The only functions of the other realm that this one holds. They take and give strings, numbers and (promiseState) a plain pair, they are called from
// here alone, and never while less than `ROOM` of stack is left: at the limit a host function would throw an error of the main realm.
/* global __host */


const { send: hostSend, bytes: hostBytes, receive: hostReceive, park: hostPark, promise: hostPromise } = __host;

// One frame of this function is about 100 bytes under the interpreter; the host functions and Node's natives behind them need less than 3 KiB of the
// guarded stack. If there is no room the RangeError comes from here, so it belongs to this realm.
const ROOM = 64;
const room = (n) => (n === 0 ? 0 : room(n - 1) + 1);

/** Writes one frame. False when the other end is gone. */
export const send = (text) => {
  room(ROOM);
  try {
    return hostSend(text);
  } catch {
    return false;
  }
};

/** Length in bytes of UTF-8; lone surrogates count as the three bytes of U+FFFD. */
export const bytes = (text) => {
  room(ROOM);
  try {
    return hostBytes(text);
  } catch {
    return text.length * 3;
  }
};

/** The text of the next frame. Only used when a run is cut off in the middle of the body's own code. */
export const receive = () => {
  room(ROOM);
  try {
    return hostReceive();
  } catch {
    return '';
  }
};

/** Waits at the gate for ever: the run has been answered. */
export const park = () => {
  for (;;) {
    try {
      hostPark();
    } catch {
      // At the stack limit even the wait can overflow; there is nothing else left to do than to wait.
    }
  }
};

/** `[0]` pending, `[1, value]` fulfilled, `[2, reason]` rejected, null when `value` is no promise. Reads internal slots, runs no code. */
export const promiseState = (value) => {
  room(ROOM);
  try {
    return hostPromise(value) ?? null;
  } catch {
    return null;
  }
};

export const PENDING = 0;
export const FULFILLED = 1;
export const REJECTED = 2;

