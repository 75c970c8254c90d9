// The parser, set up to read what the compiled wrapper will hold: the inside of an async arrow function of a classic script.
import { Parser, tokTypes } from 'acorn';
import { walk } from './tree.js';

export const OPTIONS = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  allowHashBang: false,
};

/** Where V8 could meet the keyword `import`, by position. A keyword cannot be written with escapes, so the letters must be there. */
const collector = (text) => {
  const found = [];
  if (!text.includes('import')) return { found, onToken: undefined };
  return {
    found,
    onToken: (token) => {
      if (token.type === tokTypes._import) found.push(token.start);
    },
  };
};

/** `{tree, imports}`: imports are the positions of `import` that the tree does not explain as a property name. Throws acorn's SyntaxError. */
export const parse = (text) => {
  const { found, onToken } = collector(text);
  const tree = Parser.parse(text, onToken === undefined ? OPTIONS : { ...OPTIONS, onToken });
  if (found.length === 0) return { tree, imports: found };
  const names = new Set();
  walk(tree, (node, parent, key) => {
    const isName = node.type === 'Identifier' && node.name === 'import' && (key === 'property' || key === 'key') && !parent.computed;
    if (isName) names.add(node.start);
    return true;
  });
  return { tree, imports: found.filter((at) => !names.has(at)) };
};
