// SPDX-License-Identifier: Apache-2.0
// Calls a function again and again: once a period while the page can be seen, never while it is
// hidden, less and less often while it fails. One call is under way at most.

export interface Timers {
  set(action: () => void, ms: number): number;
  clear(timer: number): void;
  isVisible(): boolean;
}

const LONGEST_WAIT_MS = 15_000;

export class Poller {
  private timer: number | null = null;
  private running = false;
  private failures = 0;
  private stopped = true;

  /** `task` says whether it worked. */
  constructor(private readonly task: () => Promise<boolean>, private readonly periodMs: number,
              private readonly timers: Timers) {}

  start(): void {
    this.stopped = false;
    void this.turn();
  }

  stop(): void {
    this.stopped = true;
    this.forget();
  }

  /** At once, instead of when it would be time: the page is shown again, or a user asks for it. */
  now(): void {
    if (this.stopped || this.running) return;
    this.forget();
    void this.turn();
  }

  /** How long to wait after so many failures in a row: 1, 2, 4, 8, 15, 15 ... periods of 1 s. */
  static waitAfter(failures: number, periodMs: number): number {
    return failures === 0 ? periodMs : Math.min(LONGEST_WAIT_MS, periodMs * 2 ** (failures - 1));
  }

  private forget(): void {
    if (this.timer !== null) this.timers.clear(this.timer);
    this.timer = null;
  }

  private async turn(): Promise<void> {
    if (this.running || this.stopped) return;
    if (!this.timers.isVisible()) return;  // now() is called when the page is shown again
    this.running = true;
    let worked = false;
    try {
      worked = await this.task();
    } finally {
      this.running = false;
      this.failures = worked ? 0 : this.failures + 1;
      if (!this.stopped) {
        this.timer = this.timers.set(() => {
          this.timer = null;
          void this.turn();
        }, Poller.waitAfter(this.failures, this.periodMs));
      }
    }
  }
}

export const browserTimers: Timers = {
  set: (action, ms) => window.setTimeout(action, ms),
  clear: (timer) => window.clearTimeout(timer),
  isVisible: () => document.visibilityState === "visible",
};
