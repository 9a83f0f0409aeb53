// SPDX-License-Identifier: Apache-2.0
// The requests to the server. Each has a time limit; a failure is one of the classes below, so
// that the page can tell "not logged in" from "not reachable".

import { type Argument, type Value, decode, encode } from "./values";

const PATIENCE_MS = 10_000;

export type Reply = { ok: Value } | { error: string };
export type Command = Argument[];

export interface Session {
  login_required: boolean;
  logged_in: boolean;
  version: string;
  read_only: boolean;
}

export interface Expired {
  seq: number;
  db: number;
  key: Value;
  member: Value;
  type: string;
  deadline: number;
  at: number;
  how: string;
}

/** The session has ended, or there was none. */
export class LoginNeeded extends Error {}

/** No answer came, or one that is none of ours. */
export class Unreachable extends Error {}

/** The server refused the request, and says why. */
export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

async function request(method: string, path: string, body?: unknown): Promise<Response> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), PATIENCE_MS);
  const headers: Record<string, string> = { "X-Mayfly": "console" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(path, {
      method, headers, signal: abort.signal, cache: "no-store", credentials: "same-origin",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.status === 401) throw new LoginNeeded("log in first");
    if (!response.ok) throw new Refused(response.status, await reason(response));
    return response;
  } catch (error) {
    if (error instanceof LoginNeeded || error instanceof Refused) throw error;
    throw new Unreachable(abort.signal.aborted ? "the server did not answer in 10 s"
                                               : "the server cannot be reached");
  } finally {
    clearTimeout(timer);
  }
}

async function reason(response: Response): Promise<string> {
  const text = (await response.text()).trim();
  try {
    const parsed = JSON.parse(text) as { error?: unknown };
    if (typeof parsed.error === "string") return parsed.error;
  } catch {
    // It is plain text, then.
  }
  return text.slice(0, 200) || `the server answered ${response.status}`;
}

async function json(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw new Unreachable("the answer is no JSON");
  }
}

export async function session(): Promise<Session> {
  return (await json(await request("GET", "/api/session"))) as Session;
}

export async function login(password: string): Promise<void> {
  await request("POST", "/api/login", { password });
}

export async function logout(): Promise<void> {
  await request("POST", "/api/logout");
}

/** One reply for each command, in order; they run one after the other, in database `db`. */
export async function run(db: number, commands: Command[]): Promise<Reply[]> {
  const body = { db, commands: commands.map((words) => words.map(encode)) };
  const answer = (await json(await request("POST", "/api/command", body))) as { replies?: unknown };
  if (!Array.isArray(answer.replies) || answer.replies.length !== commands.length) {
    throw new Unreachable("the answer has not one reply for each command");
  }
  return answer.replies.map((reply: { ok?: unknown; error?: unknown }) =>
    typeof reply.error === "string" ? { error: reply.error } : { ok: decode(reply.ok) });
}

/** What expired after event `since`, oldest first. */
export async function expired(since: number): Promise<{ last: number; expired: Expired[] }> {
  const answer = (await json(await request("GET", `/api/expired?since=${since}`))) as {
    last: number; expired: (Omit<Expired, "key" | "member"> & { key: unknown; member?: unknown })[];
  };
  return {
    last: answer.last,
    expired: answer.expired.map((entry) => ({
      ...entry, key: decode(entry.key), member: decode(entry.member),
    })),
  };
}

/** The value of a reply, or null where the server refused the command. */
export function valueOf(reply: Reply | undefined): Value {
  return reply && "ok" in reply ? reply.ok : null;
}
