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

/** What a body is compiled in, and so what it is parsed in: the parser must see one async arrow function and nothing behind it. */
export const PREFIX = '(async()=>{';
export const SUFFIX = '\n})';

const isWhole = (program, text) => {
  const only = program.body.length === 1 ? program.body[0] : null;
  const arrow = only?.type === 'ExpressionStatement' ? only.expression : null;
  return arrow?.type === 'ArrowFunctionExpression' && arrow.start === 1 && arrow.end === text.length - 1;
};

/** The error the text gives on its own has the better place: inside the wrapper a stray `}` is only noticed at the end. */
const alone = (text, error) => {
  try {
    Parser.parse(text, OPTIONS);
  } catch (better) {
    if (typeof better.pos === 'number') return better;
  }
  if (typeof error.pos === 'number') error.pos = Math.min(Math.max(0, error.pos - PREFIX.length), text.length);
  return error;
};

/**
 * `{block, imports}`: the block of the wrapper with the body's statements (positions count from the start of the wrapper), and the positions of `import`
 * that the tree does not explain as a property name. Throws acorn's SyntaxError, with `pos` in `text`.
 */
export const parse = (text) => {
  const whole = PREFIX + text + SUFFIX;
  const { found, onToken } = collector(text);
  let program;
  try {
    program = Parser.parse(whole, onToken === undefined ? OPTIONS : { ...OPTIONS, onToken });
  } catch (error) {
    throw alone(text, error);
  }
  if (!isWhole(program, whole)) throw alone(text, Object.assign(new SyntaxError('Unexpected token'), { pos: PREFIX.length }));
  const block = program.body[0].expression.body;
  if (found.length === 0) return { block, imports: found };
  const names = new Set();
  walk(block, (node, parent, key) => {
    const isName = node.type === 'Identifier' && node.name === 'import' && (key === 'property' || key === 'key') && !parent.computed;
    if (isName) names.add(node.start);
    return true;
  });
  return { block, imports: found.filter((at) => !names.has(at)) };
};
