"""Started by a model through its client's shell: a session of its own, deaf to signals, until somebody kills it."""

import os
import signal
import time

if os.fork():
    os._exit(0)
os.setsid()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
time.sleep(1000)
