/** Where a tool comes from. */
export type Source = 'openclaw' | 'plugin' | 'mcp' | 'client';

/** A tool, whole. `id` is `source:sourceName:name` where it is absent. */
export interface Tool {
  id?: string;
  source: Source;
  sourceName: string;
  name: string;
  description: string;
  /** The JSON Schema of its arguments. */
  parameters: object;
  /** The JSON Schema of its value. */
  outputSchema?: object;
}

/** For which run something is asked. `signal` says when nobody waits for it any more. */
export interface About {
  run: string;
  signal: AbortSignal;
}

/**
 * Calls go to this end. An error that is thrown fails the request in the body: its `code`, where it is a call code (`denied`, `tool_unavailable` …), its `name`, `message`
 * and `data` reach the body.
 */
interface Calls {
  call(id: string, args: Record<string, unknown>, about: About & { seq: number }): unknown;
}

/** Searches and descriptions are asked of this end. */
export interface LiveCatalog extends Calls {
  search(query: string, about: About & { limit?: number }): Tool[] | Promise<Tool[]>;
  /** Nothing: there is no such tool. */
  describe(id: string, about: About): Tool | null | undefined | Promise<Tool | null | undefined>;
}

/** Searches and descriptions are answered by the server, from these tools. */
export interface StaticCatalog extends Partial<Calls> {
  tools: Tool[];
}

/** A call that waits for a word of this end. */
export interface PendingCall extends About {
  seq: number;
  tool: { id: string; source: Source; sourceName: string; name: string };
  args: Record<string, unknown>;
}

export type ApprovalAnswer =
  | boolean
  | { answer: 'granted' }
  | { answer: 'refused'; reason?: string }
  | { answer: 'unavailable'; reason: string };

export type HookDecision =
  | void
  | boolean
  | { decision: 'allow'; args?: Record<string, unknown> }
  | { decision: 'block'; reason?: string };

export type CallState = 'queued' | 'sent' | 'ok' | 'error' | 'denied' | 'refused' | 'cancelled' | 'unknown';

/** A request of the body, one step further. `entry` is that of the report, once the state is final. */
export interface Call {
  seq: number;
  method: 'search' | 'describe' | 'call';
  state: CallState;
  id?: string | null;
  entry?: object;
}

export interface RunOptions {
  /** A name for it, not that of another one that goes on: one line of at most 128 bytes. */
  id?: string;
  /** No tools when absent. */
  catalog?: LiveCatalog | StaticCatalog;
  /** Limits that are not the defaults, such as `{wallMs: 5000}`. */
  limits?: Record<string, number>;
  /** For logs. */
  context?: Partial<Record<'agent' | 'profile' | 'session' | 'channel' | 'runtime' | 'harness', string>>;
  /** Pattern of tool ids → what is needed for a call. */
  approvals?: Record<string, 'allow' | 'ask' | 'deny'>;
  /** Answers for calls that need an approval. `true` grants; anything but an answer does not. */
  approve?(call: PendingCall): ApprovalAnswer | Promise<ApprovalAnswer>;
  /** Looks at each call before it goes. */
  beforeToolCall?(call: PendingCall): HookDecision | Promise<HookDecision>;
  onLog?(entry: { level: 'log' | 'warn' | 'error'; text: string }): void;
  onCall?(call: Call): void;
  /** Cancels the run; its report then says `cancelled`. */
  signal?: AbortSignal;
}

/** What a run came to, whatever ended it; all fields stand in the documentation of codemode. */
export interface Report {
  ok: boolean;
  value: unknown;
  valueType: string;
  logs: { level: string; text: string }[];
  logsDropped: number;
  error: { code: string; name: string; message: string; line: number | null; column: number | null; stack: string | null; data: unknown } | null;
  calls: { seq: number; method: string; id: string | null; state: CallState; code: string | null }[];
  [field: string]: unknown;
}

export interface Run {
  readonly id: string;
  /** Settles exactly once: with the report, or with an error of this module. One that nobody looks at is no unhandled rejection. */
  readonly report: Promise<Report>;
  cancel(): void;
}

export interface Connection {
  readonly server: { protocol: 1; name: string; capabilities: string[]; frameBytes: number; runs: number };
  /** Settles when the connection is over. */
  readonly closed: Promise<ConnectionLostError>;
  run(body: string, options?: RunOptions): Run;
  /** Runs that go on end. */
  close(): Promise<void>;
}

export function connect(path: string, options?: { name?: string; helloTimeoutMs?: number }): Promise<Connection>;

export class CodemodeError extends Error {
  readonly code: string;
}

/** The server did not take the run; nothing of it has happened. */
export class RunRefusedError extends CodemodeError {}

/** The server broke the wire. */
export class ProtocolError extends CodemodeError {}

/** The connection ended before the report came. */
export class ConnectionLostError extends CodemodeError {
  /** What the server said, if it said something. */
  readonly goodbye: { code: string; message: string } | null;
  /**
   * The calls of the run as far as this end knows: `unknown` has begun here and not ended, `ok` and `error` have ended here, `cancelled` has not begun here and never will;
   * other states are the server's word.
   */
  readonly calls: { seq: number; method: string; id: string | null; state: CallState }[];
}
