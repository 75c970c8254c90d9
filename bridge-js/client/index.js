// The client for gateways written in Node: runs bodies through `codemode serve` and answers for their tools. The wire is protocol/docs/gateway.md.
export { connect } from './connection.js';
export { CodemodeError, ConnectionLostError, ProtocolError, RunRefusedError } from './errors.js';
