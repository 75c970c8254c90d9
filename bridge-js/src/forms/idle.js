// What a body that gives no value was probably meant to give. Told when a run ends with nothing returned and nothing logged; the body itself runs as it is.
import { countUses, isFunction, returnsAtTop } from './tree.js';

const STAND_ALONE = '`return` stands alone on its line, so what follows is never reached: begin the value on the line of the `return`';
const BLOCK = 'a `{` at the start of a statement opens a block, not an object: put `return` before it';

const isLoneReturn = (node, i, all) => node.type === 'ReturnStatement' && node.argument === null && i + 1 < all.length;

/** `{ a: 1 }` or `{ a }` as a statement. */
const isObjectLike = (node) =>
  node.type === 'BlockStatement' &&
  node.body.length === 1 &&
  ((node.body[0].type === 'LabeledStatement' && node.body[0].body.type === 'ExpressionStatement') ||
    (node.body[0].type === 'ExpressionStatement' && /^(?:Identifier|SequenceExpression)$/.test(node.body[0].expression.type)));

const forFunction = (name) => `\`${name}\` is declared and never called: end with \`return await ${name}()\``;

const forDeclared = (block, node) => {
  if (node.type === 'FunctionDeclaration' && countUses(block, node.id.name) === 1) return forFunction(node.id.name);
  if (node.type === 'ClassDeclaration' && countUses(block, node.id.name) === 1) return `the class \`${node.id.name}\` is declared and never used: make one, call what it has, and \`return\` that`;
  if (node.type !== 'VariableDeclaration') return '';
  const last = node.declarations[node.declarations.length - 1];
  if (last.id.type !== 'Identifier') return '';
  if (isFunction(last.init)) return countUses(block, last.id.name) === 1 ? forFunction(last.id.name) : '';
  return countUses(block, last.id.name) === 1 ? `\`${last.id.name}\` is set and never used: end with \`return ${last.id.name}\`` : '';
};

/** One clause, or ''. `text` is the body without its fence. */
export const adviceForIdle = (text, block, statements) => {
  if (statements.length === 0) {
    const escaped = /\\n/.test(text) ? ', and its line breaks are written out as `\\n`: send them as they are' : '';
    return `there is no statement in it${escaped}`;
  }
  if (statements.some(isLoneReturn)) return STAND_ALONE;
  const told = forLast(block, statements);
  // Asked last: it may look through the whole tree, and most bodies have nothing to be told.
  return told === '' || returnsAtTop(block) ? '' : told;
};

const forLast = (block, statements) => {
  if (isObjectLike(statements[statements.length - 1])) return BLOCK;
  for (let i = statements.length - 1; i >= 0; i--) {
    const told = forDeclared(block, statements[i]);
    if (told !== '') return told;
    if (!/^(?:Function|Class)Declaration$/.test(statements[i].type)) break;
  }
  return '';
};
