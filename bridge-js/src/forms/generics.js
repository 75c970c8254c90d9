// `call<Weather>(id)` is a call with a type argument for whoever writes TypeScript, and two comparisons for a JavaScript parser. Such a body parses as it stands and
// cannot run: the names of its types are the names of nothing.
import { namesIn } from './tree.js';
import { namesOfValues, parseTypeScript } from './typescript.js';

/** `f<` up to `>(`, in one statement; bounded, so that no text is looked through again and again. */
const MAYBE = /[\w$]<\s*[\w{["'(][^;]{0,400}?>\s*[(`]/;

/** True for a text that parses as JavaScript only because the types in it read as comparisons: one of its names is nothing but a type, and no global. */
export const holdsTypeArguments = (text, block) => {
  if (!MAYBE.test(text)) return false;
  let values;
  try {
    values = namesOfValues(parseTypeScript(text));
  } catch {
    return false;
  }
  for (const name of namesIn(block)) if (!values.has(name) && !(name in globalThis)) return true;
  return false;
};
