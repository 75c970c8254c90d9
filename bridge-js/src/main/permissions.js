// Does Node's permission model refuse everything it knows? Scopes differ from line to line; one that a line does not know answers false.

const SCOPES = ['fs', 'fs.read', 'fs.write', 'child', 'worker', 'wasi', 'addon', 'inspector', 'net', 'ffi'];

export const nothingGranted = (permission) => {
  if (permission === undefined || typeof permission.has !== 'function') return false;
  for (const scope of SCOPES) if (permission.has(scope)) return false;
  return true;
};
