"""The demo's progress: one line per phase with the time since the start, and on
a terminal a live line below it."""

import sys
import time


class Progress:
    def __init__(self, out=sys.stderr, clock=time.monotonic):
        self._out = out
        self._clock = clock
        self._start_s = clock()
        self._live = out.isatty()
        self._shown = False

    def phase(self, text):
        """Prints a permanent line."""
        self._erase()
        print(f"[{self._clock() - self._start_s:6.1f} s] {text}",
              file=self._out, flush=True)

    def say(self, text):
        """Prints a permanent line without the time."""
        self._erase()
        print(text, file=self._out, flush=True)

    def live(self, text):
        """Prints a line that the next one replaces; only on a terminal."""
        if self._live:
            self._erase()
            self._out.write(f"           {text}"[:79])
            self._out.flush()
            self._shown = True

    def wait(self, seconds, text):
        """Sleeps, counting down."""
        end_s = self._clock() + seconds
        while True:
            left_s = end_s - self._clock()
            if left_s <= 0:
                break
            self.live(f"{text}: {left_s:.0f} s to go")
            time.sleep(min(left_s, 1.0))
        self._erase()

    def _erase(self):
        if self._shown:
            self._out.write("\r\033[K")
            self._shown = False
