// Names of fields as they stand in JSON text. Lone surrogates become U+FFFD there, so that two names of one object may come out the same, and the reader
// on the other side refuses a name that comes twice. Only names that change need any of this, and hardly an object has one.
import { MapCtor, mapGet, mapSet, wellFormed } from './primordials.js';

const isChanged = (name) => wellFormed(name) !== name;

/** `null` when every name is written as it is, otherwise a record of the names in use, for the functions below. */
export const namesInUse = (names, reserve) => {
  let i = 0;
  while (i < names.length && !isChanged(names[i])) i++;
  if (i === names.length) return null;
  const used = new MapCtor();
  // Names that stay as they are come first, wherever they stand: only a changed one gives way.
  if (reserve) for (let k = 0; k < names.length; k++) if (!isChanged(names[k])) mapSet(used, names[k], 1);
  return used;
};

/** `name` as it is written: `~2`, `~3` ... behind it when it changed and the changed name is in use. */
export const uniqueName = (name, used) => {
  if (used === null) return name;
  const text = wellFormed(name);
  if (text === name) return name;
  // The last number given to this name, so that a thousand of the same kind do not each count from the start.
  let count = mapGet(used, text);
  let unique = text;
  if (count === undefined) count = 1;
  else do unique = `${text}~${++count}`; while (mapGet(used, unique) !== undefined);
  mapSet(used, unique, 1);
  mapSet(used, text, count);
  return unique;
};

/** False when a name that is written the same was claimed before. */
export const claimName = (name, used) => {
  if (used === null) return true;
  const text = wellFormed(name);
  if (mapGet(used, text) !== undefined) return false;
  mapSet(used, text, 1);
  return true;
};
