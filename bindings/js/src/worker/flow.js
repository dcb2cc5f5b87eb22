// How far a worker may run ahead of whoever reads its events, and whether it is to stop.

/** One generation's events: at most `window` are on their way; after each, messages that came meanwhile are looked at. */
export class Flow {
  #room;
  /** @type {(() => void) | undefined} */
  #wake;
  cancelled = false;

  /** @param {number} window */
  constructor(window) {
    this.#room = window;
  }

  /** An event was sent: wait until another one may be, and let a message that waits come in. */
  async sent() {
    this.#room -= 1;
    await nextTask();
    while (this.#room <= 0 && !this.cancelled) await new Promise((resolve) => (this.#wake = () => resolve(undefined)));
  }

  /** @param {number} count how many more events were read */
  taken(count) {
    this.#room += count;
    this.#wake?.();
  }

  cancel() {
    this.cancelled = true;
    this.#wake?.();
  }
}

const { port1: here, port2: there } = new MessageChannel();
/** @type {(() => void)[]} */
const waiting = [];
here.onmessage = () => waiting.shift()?.();
// Under Node an open port would keep the process alive.
const unref = () => /** @type {any} */ (here).unref?.();
unref();

/** The next task of the event loop, after messages that wait; a timer would take milliseconds. */
function nextTask() {
  return new Promise((resolve) => {
    /** @type {any} */ (here).ref?.();
    waiting.push(() => {
      if (waiting.length === 0) unref();
      resolve(undefined);
    });
    there.postMessage(null);
  });
}
