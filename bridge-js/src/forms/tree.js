// Walking an ESTree tree without recursion: a body may nest as deep as the parser lets it.

const SKIP = new Set(['type', 'start', 'end', 'loc', 'range', 'raw', 'value', 'regex', 'bigint', 'directive']);

/** Calls `visit(node, parent, key)` for every node, parents first. Where `visit` gives false, the children are left out. */
export const walk = (root, visit) => {
  const todo = [[root, null, '']];
  while (todo.length > 0) {
    const [node, parent, key] = todo.pop();
    if (visit(node, parent, key) === false) continue;
    for (const name of Object.keys(node)) {
      const child = node[name];
      if (child === null || typeof child !== 'object') continue;
      if (SKIP.has(name) && !(name === 'value' && typeof child.type === 'string')) continue;
      if (Array.isArray(child)) {
        for (let i = child.length - 1; i >= 0; i--) if (child[i] !== null && typeof child[i]?.type === 'string') todo.push([child[i], node, name]);
      } else if (typeof child.type === 'string') {
        todo.push([child, node, name]);
      }
    }
  }
};

/** True for nodes with a `this` of their own. */
const ownThis = (node, parent, key) =>
  node.type === 'FunctionExpression' ||
  node.type === 'FunctionDeclaration' ||
  node.type === 'StaticBlock' ||
  (parent?.type === 'PropertyDefinition' && key === 'value');

/** Positions of every `this` that is the body's own. */
export const topLevelThis = (tree) => {
  const found = [];
  walk(tree, (node, parent, key) => {
    if (ownThis(node, parent, key)) return false;
    if (node.type === 'ThisExpression') found.push(node.start);
    return true;
  });
  return found.sort((a, b) => a - b);
};

/** True when a `return` of the body itself (not of a function in it) is there. */
export const returnsAtTop = (tree) => {
  let found = false;
  walk(tree, (node) => {
    if (found || node.type === 'FunctionExpression' || node.type === 'FunctionDeclaration' || node.type === 'ArrowFunctionExpression') return false;
    if (node.type === 'ReturnStatement') found = true;
    return !node.type.startsWith('Class');
  });
  return found;
};

const isEmptyTemplate = (quasi) => quasi !== undefined && quasi.end - quasi.start === 2;

/** True for a template tagged with a template, or with what an empty one gave: what a line of three backticks is when it is read as JavaScript. */
export const hasFenceTemplate = (tree) => {
  let found = false;
  walk(tree, (node) => {
    if (node.type === 'TaggedTemplateExpression' && (node.tag.type === 'TemplateLiteral' || isEmptyTemplate(node.tag.quasi))) found = true;
    return !found;
  });
  return found;
};

/** True when a template stands around the position. */
export const isInTemplate = (tree, position) => {
  let found = false;
  walk(tree, (node) => {
    if (node.type === 'TemplateLiteral' && node.start < position && position < node.end) found = true;
    return !found;
  });
  return found;
};

/** Names used as values, names of properties and texts of strings: whatever of a tree could mean a name. */
export const namesIn = (tree, isSkipped = () => false) => {
  const names = new Set();
  walk(tree, (node) => {
    if (isSkipped(node)) return false;
    if (node.type === 'Identifier') names.add(node.name);
    else if (node.type === 'Literal' && typeof node.value === 'string') names.add(node.value);
    return true;
  });
  return names;
};

/** Position of the only `throw` whose value is plainly no Error, or -1. */
export const bareThrow = (tree) => {
  const found = [];
  walk(tree, (node) => {
    if (node.type === 'ThrowStatement' && /^(?:Object|Array|Template|Unary|Binary)Expression$|Literal$/.test(node.argument.type)) found.push(node.start);
    return true;
  });
  return found.length === 1 ? found[0] : -1;
};

export const isFunction = (node) => node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';

/** How often a name is used as an identifier; its declaration counts too, property names do not. */
export const countUses = (tree, name) => {
  let uses = 0;
  walk(tree, (node, parent, key) => {
    if (node.type !== 'Identifier' || node.name !== name) return true;
    const isName = (key === 'property' || key === 'key') && !parent.computed && !parent.shorthand;
    if (!isName) uses++;
    return true;
  });
  return uses;
};
