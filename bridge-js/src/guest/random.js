// `Math.random` of a run. Forks of one template would share V8's own generator, so the guest realm has one of its own (sfc32: 128 bits of state, three
// additions and two shifts a step), seeded from the run request. It is no source of secrets and nothing here uses it.
import { apply, bind, defineProperty, floor, parseInteger, stringSlice } from './primordials.js';

let a = 0;
let b = 0;
let c = 0;
let d = 1;

const step = () => {
  const t = (((a + b) | 0) + d) | 0;
  d = (d + 1) | 0;
  a = b ^ (b >>> 9);
  b = (c + (c << 3)) | 0;
  c = (c << 21) | (c >>> 11);
  c = (c + t) | 0;
  return t >>> 0;
};

/** `seed`: 32 hexadecimal digits. */
export const seedRandom = (seed) => {
  a = parseInteger(stringSlice(seed, 0, 8), 16) | 0;
  b = parseInteger(stringSlice(seed, 8, 16), 16) | 0;
  c = parseInteger(stringSlice(seed, 16, 24), 16) | 0;
  d = parseInteger(stringSlice(seed, 24, 32), 16) | 0;
  // Twelve rounds spread every bit of the seed over the whole state.
  for (let i = 0; i < 12; i++) step();
};

const { random } = {
  random() {
    // 53 bits, as many as a double between 0 and 1 can tell apart.
    return (floor(step() / 32) * 67108864 + floor(step() / 64)) / 9007199254740992;
  },
};

// A bound function shows no source text, as V8's own shows none.
const native = apply(bind, random, [undefined]);
defineProperty(native, 'name', { __proto__: null, value: 'random' });

export const installRandom = () => {
  defineProperty(Math, 'random', { __proto__: null, value: native, writable: true, enumerable: false, configurable: true });
};
